// Reads a file of a session's workspace for the view of a waiting call, where the page runs on the
// host that has it. It decides nothing: whether a call may run is up to the run's rules.
import { constants } from 'node:fs';
import { open, realpath } from 'node:fs/promises';
import { dirname, resolve, sep } from 'node:path';
import { findDataFolder } from '../../system/process/data-folders.ts';
import type { SessionDescription } from '../../client/faces/types.ts';
import type { FileNow } from '../call-views/file-change.ts';

/** Bytes; a larger file is compared by the texts of the call. */
const LARGEST = 1024 * 1024;

/**
 * A link out of the workspace, a file that is no text and a large one are not shown. `here`: this
 * host; a session whose folder is on another host says so itself.
 */
export async function readWorkspaceFile(
  { cwd, host }: Pick<SessionDescription, 'cwd' | 'host'>,
  path: string,
  here: { readonly id: string } | undefined,
): Promise<FileNow> {
  if (host && host.id !== here?.id)
    return unseen(`the folder is on host ${host.name}, and this page is not: these are the two texts of the call`);
  try {
    const root = await realpath(cwd);
    const named = resolve(root, path);
    const folder = await realpath(dirname(named)).catch(ifMissing);
    if (folder === null) return isInside(root, named) ? { kind: 'new' } : outside;
    if (findDataFolder(folder, root) !== null) return ofPerdure;
    const inside = isInside(root, `${folder}${sep}`) || folder === root;
    return inside ? await readText(`${folder}${sep}${named.slice(named.lastIndexOf(sep) + 1)}`) : outside;
  } catch (error) {
    if (!isFileError(error)) throw error;
    return unseen(`the file cannot be read here (${error.code}): these are the two texts of the call`);
  }
}

const unseen = (why: string): FileNow => ({ kind: 'unseen', why });
const outside = unseen('the file is outside the session’s folder: these are the two texts of the call');

const ofPerdure = unseen('the file is part of Perdure’s own data: these are the two texts of the call');

const isInside = (root: string, path: string): boolean => path.startsWith(root.endsWith(sep) ? root : root + sep);

/** Follows no link at the end of the path. */
async function readText(path: string): Promise<FileNow> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(ifMissing);
  if (handle === null) return { kind: 'new' };
  try {
    const stats = await handle.stat();
    if (!stats.isFile()) return unseen('it is no plain file');
    if (stats.size > LARGEST) return unseen('the file is too large to compare: these are the two texts of the call');
    const bytes = await handle.readFile();
    if (bytes.includes(0)) return unseen('the file is no text: these are the two texts of the call');
    return { kind: 'text', text: bytes.toString('utf8').replace(/^\ufeff/, '') };
  } finally {
    await handle.close();
  }
}

type FileError = Error & { readonly code: string };

const isFileError = (error: unknown): error is FileError =>
  error instanceof Error && 'code' in error && typeof error.code === 'string';

function ifMissing(error: unknown): null {
  if (isFileError(error) && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) return null;
  throw error;
}
