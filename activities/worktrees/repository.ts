// Finds the repository of a workspace by reading files, without git: an agent may have written the
// configuration that git would follow, and must not lead the worker's git to another repository.
import { lstatSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';

export type Repository = {
  /** The git folder of the work tree that the workspace lies in: it holds its HEAD. */
  readonly gitDir: string;
  /** The folder that all its work trees share: refs, objects, configuration. */
  readonly common: string;
  /** The work tree's own folder. */
  readonly top: string;
  /** The workspace in its work tree; '' for all of it. */
  readonly prefix: string;
};

type GitFolders = Pick<Repository, 'gitDir' | 'common'>;

/** Bytes of a file of git's that is looked into. */
const MOST_BYTES = 1024 * 1024;

/**
 * Sections of a configuration that could have git start a program, or read another configuration,
 * when a ref or a work tree is made.
 */
const PROGRAM_SECTION = /\[\s*(?:hook|include|includeif)\b/i;

/**
 * Finds the repository. `workspace` is an absolute real path. Returns a sentence, without its
 * subject, when no repository can be used.
 */
export function findRepository(workspace: string): Repository | string {
  for (let at = workspace; ; at = dirname(at)) {
    const found = readRepository(at);
    if (typeof found === 'string') return found;
    if (found) return checkRepository(found) ?? { ...found, top: at, prefix: relative(at, workspace) };
    if (dirname(at) === at) return 'it lies in no git repository';
  }
}

function readRepository(folder: string): GitFolders | string | null {
  const git = join(folder, '.git');
  const stats = lstatSync(git, { throwIfNoEntry: false });
  if (!stats) return null;
  if (stats.isDirectory()) return { gitDir: git, common: git };
  try {
    if (stats.isFile()) return readWorktree(git) ?? `its ${git} is not that of a work tree (submodules cannot be used)`;
  } catch {
    // A path that cannot be read leads nowhere.
  }
  return `its ${git} leads to no repository that names it`;
}

/**
 * Reads a linked work tree; null for other folders. Its folder lies in the repository it belongs
 * to, and names its `.git`: an agent cannot make another repository's do so.
 */
function readWorktree(git: string): GitFolders | null {
  const gitDir = realpathSync.native(resolve(dirname(git), readSmallFile(git).replace(/^gitdir: /, '')));
  const common = dirname(dirname(gitDir));
  if (basename(dirname(gitDir)) !== 'worktrees') return null;
  const shares = realpathSync.native(resolve(gitDir, readSmallFile(join(gitDir, 'commondir')))) === common;
  return shares && realpathSync.native(readSmallFile(join(gitDir, 'gitdir'))) === realpathSync.native(git)
    ? { gitDir, common }
    : null;
}

/**
 * Lists the entries of linked work trees, also of those that are gone: `tree` is where one is said
 * to be.
 */
export function listWorktrees(common: string): readonly { readonly gitDir: string; readonly tree: string }[] {
  const folder = join(common, 'worktrees');
  if (lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) return [];
  return readdirSync(folder).flatMap((name) => {
    const gitDir = join(folder, name);
    try {
      return [{ gitDir, tree: dirname(resolve(gitDir, readSmallFile(join(gitDir, 'gitdir')))) }];
    } catch {
      // Git did not come as far as to write it.
      return [];
    }
  });
}

function checkRepository({ gitDir, common }: GitFolders): string | undefined {
  if (lstatSync(join(common, 'commondir'), { throwIfNoEntry: false }))
    return `its ${common} is a part of another repository`;
  const borrowed = findBorrowed(common);
  if (borrowed !== undefined)
    return `its ${borrowed} leads to another repository: have all objects and refs in this one`;
  const configs = [join(common, 'config'), join(common, 'config.worktree'), join(gitDir, 'config.worktree')];
  const starting = configs.find((path) => statSync(path, { throwIfNoEntry: false }) && mayStart(path));
  if (starting === undefined) return undefined;
  return `its ${starting} has hooks or includes other files, which could start programs, or is too large: take these sections out`;
}

function mayStart(path: string): boolean {
  try {
    return PROGRAM_SECTION.test(readSmallFile(path));
  } catch {
    // The contents of the file are unknown.
    return true;
  }
}

/**
 * Finds what is shared with a repository elsewhere: an agent would be shown that one's files, or
 * have refs and objects written to it.
 */
function findBorrowed(common: string): string | undefined {
  const at = (...names: readonly string[]): string => join(common, ...names);
  const alternates = ['alternates', 'http-alternates'].map((name) => at('objects', 'info', name));
  const written = ['', 'heads', join('heads', 'perdure')].flatMap((name) => [
    at('refs', name),
    at('logs', 'refs', name),
  ]);
  const folders = [at('objects'), at('objects', 'info'), at('objects', 'pack')];
  const own = [...folders, ...written, at('logs'), at('worktrees'), at('packed-refs')];
  return (
    alternates.find((path) => lstatSync(path, { throwIfNoEntry: false })) ??
    own.find((path) => lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) ??
    folders.flatMap((folder) => listLinks(folder))[0]
  );
}

function listLinks(folder: string): readonly string[] {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return [];
  const entries = readdirSync(folder, { withFileTypes: true });
  return entries.filter((entry) => entry.isSymbolicLink()).map(({ name }) => join(folder, name));
}

/** Reads a text. Throws an Error for a path that is not a file, or too large. */
function readSmallFile(path: string): string {
  const stats = statSync(path);
  if (!stats.isFile() || stats.size > MOST_BYTES) throw new Error(`${path} is no file of at most ${MOST_BYTES} bytes`);
  return readFileSync(path, 'utf8').replace(/\r?\n$/, '');
}
