// Opens what `confine` found, and checks what was really opened: between the two, a folder may have
// been swapped for a link. Only regular files and folders are ever opened; a fifo would block, a
// device may act.
// The facts that tell one state of a file from another without reading it (L43).
import { constants, lstatSync, readlinkSync, realpathSync, type Stats } from 'node:fs';
import { join } from 'node:path';
import { OpenFile } from '../../../system/open-file.ts';
import { hasProc } from '../../../system/process/proc.ts';
import { codeOf } from '../../../system/text.ts';
import type { SeenFile } from '../../../workflows/contract/activities.ts';
import { ToolFailure } from '../../failures.ts';
import { type ConfinedPath, findRoot, type Workspace } from './confine.ts';
import { ifPresent, quotePath, toFsFailure } from './fs-failures.ts';
import { findLikeName, type LikeName } from './lookalikes.ts';

const NEVER_FOLLOW = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Bytes for a file that says that it has none, as those of /proc do. */
const LEAST = 8 * 1024;

type OpenedFile = { readonly handle: OpenFile; readonly stats: Stats };

/** Opens a file; the caller closes the handle. Throws ToolFailure. */
export async function openFile(workspace: Workspace, confined: ConfinedPath): Promise<OpenedFile> {
  const name = confined.name === '' ? '.' : confined.name;
  try {
    requireFile(lstatSync(confined.path), name);
    const handle = openVerified(workspace, confined.path, NEVER_FOLLOW);
    try {
      const stats = handle.stat();
      requireFile(stats, name);
      return { handle, stats };
    } catch (error) {
      handle.close();
      throw error;
    }
  } catch (error) {
    if (codeOf(error) === 'ENOENT') await refuseLike(confined);
    throw toFsFailure(error, name, 'read');
  }
}

/** Returns how large a buffer for a file of this size is, at most `most`. */
export const sizeToRead = (size: number, most: number): number => Math.min(most, Math.max(LEAST, size));

/** Reads at most the first `most` bytes of a file as UTF-8. */
export async function readStart({ handle, stats }: OpenedFile, most: number): Promise<string> {
  const buffer = Buffer.alloc(sizeToRead(stats.size, most));
  return buffer.toString('utf8', 0, await handle.read(buffer, 0));
}

/** Throws ToolFailure where a name does not exist and one that looks the same does. */
async function refuseLike({ existing, missing, name }: ConfinedPath): Promise<void> {
  const [first] = missing;
  const like = first === undefined ? null : await findLikeName(existing, first);
  if (like !== null) throw new ToolFailure(`${quotePath(name)} ${describeLikeName(like)}.`);
}

/** Words a likeness for the end of a sentence about a path that does not exist. */
export function describeLikeName(like: LikeName): string {
  if (like.kind === 'bytes') return 'is a name that is no UTF-8: only a command can use it, or give it another name';
  const codes = Array.from(like.name, (one) => (/[\x20-\x7e]/.test(one) ? one : escapeUnit(one))).join('');
  return `does not exist; ${quotePath(like.name)} does, which looks the same and is written differently: "${codes}"`;
}

const escapeUnit = (character: string): string => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;

/** Throws ToolFailure unless it is a regular file. */
export function requireFile(stats: Stats, name: string): void {
  if (!stats.isFile()) throw new ToolFailure(`${quotePath(name)} is ${describeKind(stats)}, not a file.`);
}

/**
 * Opens a folder by real path, for use with `entryPath`; `name` is a name for it that holds better.
 * Throws the system's errors.
 */
export function openFolder(workspace: Workspace, path: string, name = path): OpenFile {
  return openVerified(workspace, path, NEVER_FOLLOW | constants.O_DIRECTORY, name);
}

/** Throws ToolFailure when the open file or folder is no longer at `path`. */
export function requireAt(handle: OpenFile, path: string): void {
  const opened = hasProc ? readlinkSync(`/proc/self/fd/${handle.fd}`) : realpathSync.native(path);
  if (opened !== path) throw createReplacedFailure(path);
}

/**
 * Names an entry of an open folder so that the name holds even if the folder is renamed or
 * replaced. Without /proc, its path must do.
 */
export function entryPath(folder: OpenFile, path: string, entry: string): string {
  return hasProc ? `/proc/self/fd/${folder.fd}/${entry}` : join(path, entry);
}

/**
 * Opens a path. The path that was judged and the one that was opened must be the same, not only
 * both in the workspace: rules may tell them apart.
 */
function openVerified(workspace: Workspace, path: string, flags: number, name = path): OpenFile {
  if (findRoot(workspace, path) === undefined) {
    throw new ToolFailure(`${quotePath(path)} is outside the workspace ${workspace.root}.`);
  }
  const handle = new OpenFile(name, flags);
  try {
    requireAt(handle, path);
    return handle;
  } catch (error) {
    handle.close();
    throw error;
  }
}

function describeKind(stats: Stats): string {
  if (stats.isDirectory()) return 'a folder';
  if (stats.isFIFO()) return 'a named pipe';
  if (stats.isSocket()) return 'a socket';
  return stats.isSymbolicLink() ? 'a link' : 'a device';
}

/** Throws ToolFailure when the entry is no longer the open file. */
export function requireEntry(entry: string, opened: OpenFile, path: string): void {
  requireSame(
    ifPresent(() => lstatSync(entry)),
    opened.stat(),
    path,
  );
}

/** Throws ToolFailure unless both are of one file. */
export function requireSame(found: Stats | null, meant: Stats, path: string): void {
  if (found?.ino === meant.ino && found.dev === meant.dev) return;
  throw createReplacedFailure(path);
}

const createReplacedFailure = (path: string): ToolFailure =>
  new ToolFailure(`${quotePath(path)} was replaced by something else while it was being used.`);

export function toSeenFile(path: string, { mtimeMs, size }: Stats): SeenFile {
  return { path, mtimeMs, size };
}

/**
 * Reads the facts of a file: `gone` when it does not exist, null when that cannot be found out.
 * Never throws.
 */
export function readFileFacts(path: string): SeenFile | null {
  try {
    return toSeenFile(path, lstatSync(path));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' || code === 'ENOTDIR' ? { path, mtimeMs: 0, size: 0, gone: true } : null;
  }
}
