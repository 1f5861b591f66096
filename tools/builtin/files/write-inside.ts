// Puts a file into the workspace whole or not at all: written beside its place, then renamed. Every
// step names its entry through an open folder, so that no swap of a folder for a link can lead it
// outside. Where nothing can be renamed (a mounted file, a folder that may not be written) or the
// new file may not be what the old one was, the old one is written in place.
import { randomBytes } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { access, lstat, mkdir, open, rename, rm, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Programs } from '../../../system/process/programs.ts';
import { codeOf } from '../../../system/text.ts';
import { ToolFailure } from '../../tool.ts';
import { type Confined, type Workspace, nullIfAbsent, fsFailure, quotePath, reasonOfSystem } from './confine.ts';
import { keepAttributes } from './keep-attributes.ts';
import type { SeenFile } from '../../../workflows/contract/activities.ts';
import { entryOf, factsIn, openFolder, requireAt, requireFile } from './open-inside.ts';

type WriteOptions = {
  /**
   * Awaited just before the file changes: of a worker that was frozen meanwhile nothing is written.
   */
  readonly fence: () => Promise<void>;
  /** Checked just before the file changes: nothing is written by a call that was stopped. */
  readonly signal: AbortSignal;
  /** The state of the file when it was read, which it must still have; null: there was none. */
  readonly unchanged: Stats | null;
  readonly programs: Programs;
};

/**
 * `parted`: other names of the file (hard links), which keep what it said before. `facts`: of what
 * was written, whatever became of it since.
 */
export type Written = { readonly did: 'created' | 'updated'; readonly parted: number; readonly facts: SeenFile };

/** For the end of an outcome. */
export function sayParted(parted: number): string {
  if (parted <= 0) return '';
  return `; ${parted === 1 ? '1 other name of the file (a hard link) keeps' : `${parted} other names of the file (hard links) keep`} what it said before`;
}

/**
 * Makes parent folders; keeps owner, group, mode and attributes of a file that was there. Throws
 * ToolFailure.
 */
export async function writeInside(
  workspace: Workspace,
  target: Confined,
  bytes: Uint8Array,
  options: WriteOptions,
): Promise<Written> {
  refuseRoot(target);
  try {
    const folder = await makeFolders(workspace, target);
    try {
      return await put(folder, target, bytes, options);
    } finally {
      await folder.close();
    }
  } catch (error) {
    throw fsFailure(error, target.name, 'written');
  }
}

/** Throws ToolFailure for a folder of the run itself. */
export function refuseRoot({ path, root, name }: Confined): void {
  if (path !== root) return;
  throw new ToolFailure(`${name === '' ? 'The workspace itself' : quotePath(path)} is a folder, not a file.`);
}

async function makeFolders(workspace: Workspace, { path, existing, missing }: Confined): Promise<FileHandle> {
  let at = missing.length === 0 ? dirname(path) : existing;
  let folder = await openFolder(workspace, at);
  for (const segment of missing.slice(0, -1)) {
    try {
      const next = entryOf(folder, at, segment);
      await mkdir(next).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error;
      });
      at = join(at, segment);
      const below = await openFolder(workspace, at, next);
      await folder.close();
      folder = below;
    } catch (error) {
      await folder.close();
      throw error;
    }
  }
  return folder;
}

async function put(
  folder: FileHandle,
  { path, name }: Confined,
  bytes: Uint8Array,
  options: WriteOptions,
): Promise<Written> {
  const place: Place = { folder, path, name, at: entryOf(folder, dirname(path), basename(path)) };
  const before = await lstat(place.at).catch(nullIfAbsent);
  if (before !== null) {
    requireFile(before, name);
    await access(place.at, constants.W_OK);
  }
  const replaced = await replace(place, before, bytes, options);
  if (replaced !== null)
    return {
      did: before === null ? 'created' : 'updated',
      parted: before === null ? 0 : before.nlink - 1,
      facts: factsIn(path, replaced),
    };
  const written = await overwrite(place, before as Stats, bytes, options);
  return { did: 'updated', parted: 0, facts: factsIn(path, written) };
}

type Place = {
  readonly folder: FileHandle;
  readonly path: string;
  readonly name: string;
  /** A name for it through the open folder. */
  readonly at: string;
};

/** A pipe in the place of a file would never answer. */
const NEVER_FOLLOW = constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Codes of a system that lets no file be put beside another, or in its place. */
const NO_RENAME: readonly (string | undefined)[] = ['EACCES', 'EPERM', 'EROFS', 'EBUSY', 'EXDEV'];

/**
 * The new file as it was put there; null where a file that is there cannot be replaced by one like
 * it.
 */
async function replace(
  place: Place,
  before: Stats | null,
  bytes: Uint8Array,
  options: WriteOptions,
): Promise<Stats | null> {
  const { folder, path } = place;
  const temp = entryOf(folder, dirname(path), `.perdure-${randomBytes(8).toString('hex')}.tmp`);
  let written: Stats;
  try {
    const made = await open(temp, 'wx', before === null ? 0o666 : 0o600);
    try {
      await made.writeFile(bytes);
      if (before !== null && !(await takeAttributes(place, before, made, options.programs))) {
        await rm(temp, { force: true });
        return null;
      }
      await made.sync();
      written = await made.stat();
      await lastCheck(place, options);
      await requireAt(folder, dirname(path));
      await requireEntry(temp, made, path);
      await rename(temp, place.at);
    } finally {
      await made.close();
    }
  } catch (error) {
    await rm(temp, { force: true });
    if (before !== null && NO_RENAME.includes(codeOf(error))) return null;
    throw error;
  }
  await syncFolder(folder);
  return written;
}

async function takeAttributes(
  { at, path }: Place,
  before: Stats,
  to: FileHandle,
  programs: Programs,
): Promise<boolean> {
  const from = await open(at, constants.O_RDONLY | NEVER_FOLLOW);
  try {
    requireSame(await from.stat(), before, path);
    return await keepAttributes(programs, { from, had: before, to });
  } finally {
    await from.close();
  }
}

/**
 * Keeps the file, its names and all that it has. Throws ToolFailure that says so when it stopped
 * half-way.
 */
async function overwrite(place: Place, before: Stats, bytes: Uint8Array, options: WriteOptions): Promise<Stats> {
  const { folder, path, name, at } = place;
  const handle = await open(at, constants.O_WRONLY | NEVER_FOLLOW);
  try {
    requireSame(await handle.stat(), before, path);
    await lastCheck(place, options);
    await requireAt(folder, dirname(path));
    try {
      await handle.writeFile(bytes);
      await handle.truncate(bytes.length);
      await handle.sync();
      return await handle.stat();
    } catch (error) {
      const why = reasonOfSystem(error);
      if (why === undefined) throw error;
      throw new ToolFailure(`${quotePath(name)} was written in part, in place: ${why}.`, { cause: error });
    }
  } finally {
    await handle.close();
  }
}

/** Throws ToolFailure when the entry is not the open file any more. */
async function requireEntry(entry: string, opened: FileHandle, path: string): Promise<void> {
  requireSame(await lstat(entry).catch(nullIfAbsent), await opened.stat(), path);
}

/** Throws ToolFailure unless both are of one file. */
function requireSame(found: Stats | null, meant: Stats, path: string): void {
  if (found?.ino === meant.ino && found.dev === meant.dev) return;
  throw new ToolFailure(`${quotePath(path)} was replaced by something else while it was being used.`);
}

/** Throws ToolFailure when the file must not change after all, and what the fence throws. */
async function lastCheck({ at, name }: Place, { fence, signal, unchanged }: WriteOptions): Promise<void> {
  await fence();
  const now = await lstat(at).catch(nullIfAbsent);
  if (unchanged === null ? now !== null : !isSame(now, unchanged)) {
    throw new ToolFailure(`${quotePath(name)} was changed by something else meanwhile: read it again.`);
  }
  if (signal.aborted) throw new ToolFailure('Stopped before anything was written.');
}

/** Not every file system can: the file is there all the same. */
async function syncFolder(folder: FileHandle): Promise<void> {
  await folder.sync().catch((error: NodeJS.ErrnoException) => {
    if (!['EINVAL', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EACCES', 'EPERM', 'EBADF'].includes(error.code ?? ''))
      throw error;
  });
}

function isSame(now: Stats | null, then: Stats): boolean {
  return now !== null && now.ino === then.ino && now.size === then.size && now.mtimeMs === then.mtimeMs;
}
