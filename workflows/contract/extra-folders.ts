// Checks the folders besides the workspace that tools may work in. Opening the run checks whether
// they exist.

/**
 * Folders besides the workspace that tools may read and change, at most 20, as absolute real paths:
 * neither they nor a folder above may be a link. A list replaces the worker's own.
 */
export type ExtraFolders = readonly string[];

const MOST_FOLDERS = 20;
/** Characters. */
const LONGEST_PATH = 4_096;

/**
 * Returns a sentence that says what is wrong with the paths, before anything looks for the folders;
 * undefined when they will do.
 */
export function extraFoldersProblem(folders: unknown): string | undefined {
  if (folders === undefined) return undefined;
  if (!Array.isArray(folders))
    return 'the additional directories are no list: give absolute paths such as ["/data/shared"]';
  if (folders.length > MOST_FOLDERS)
    return `${folders.length} additional directories are given: give at most ${MOST_FOLDERS}`;
  return folders.map(extraFolderProblem).find((problem) => problem !== undefined);
}

function extraFolderProblem(path: unknown): string | undefined {
  if (typeof path !== 'string') return 'an additional directory is no text: give its absolute path';
  const about = `the additional directory ${JSON.stringify(path.slice(0, 200))}`;
  if (path.length > LONGEST_PATH) return `${about} has ${path.length} characters: give at most ${LONGEST_PATH}`;
  // The model is told the name on a line of its own.
  if (/\p{Cc}|[\u2028\u2029]/u.test(path)) return `${about} has a line end or another control character: rename it`;
  if (!path.startsWith('/')) return `${about} is not an absolute path: give one that begins with "/"`;
  if (/^\/+$/.test(path)) return `${about} is the whole machine: give the folders that are needed`;
  return undefined;
}
