// Puts a file into the workspace whole or not at all: written next to its place, then renamed.
// Every step names its entry through an open folder, so that no swap of a folder for a link can
// lead it outside. Where nothing can be renamed (a mounted file, a folder that may not be written),
// or the new file may not get the attributes of the old one, the old one is written in place.
import { accessSync, constants, lstatSync, mkdirSync, renameSync, rmSync, type Stats } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { ownTemporaryName } from '../../../store/snapshots/restore/temporary-names.ts';
import { copyBy, isReplacingRefused, keepAttributes, runCp } from '../../../system/process/keep-attributes.ts';
import { OpenFile } from '../../../system/open-file.ts';
import type { Programs } from '../../../system/process/programs.ts';
import { codeOf } from '../../../system/text.ts';
import { ToolFailure } from '../../tool.ts';
import type { ConfinedPath, Workspace } from './confine.ts';
import { ifPresent, toFsFailure, quotePath, describeSystemError } from './fs-failures.ts';
import type { SeenFile } from '../../../workflows/contract/activities.ts';
import { entryPath, openFolder, requireAt, requireEntry, requireFile, requireSame, toSeenFile } from './open-inside.ts';

type WriteOptions = {
  /** Awaited just before the file changes: a worker that was frozen meanwhile writes nothing. */
  readonly fence: () => Promise<void>;
  /** Checked just before the file changes: a call that was stopped writes nothing. */
  readonly signal: AbortSignal;
  /** The state of the file when it was read, which it must still have; null for a new file. */
  readonly unchanged: Stats | null;
  readonly programs: Programs;
};

/**
 * `parted` counts other names of the file (hard links), which keep the old content. `facts` are
 * those of the written file, whatever became of it since.
 */
type WriteResult = { readonly did: 'created' | 'updated'; readonly parted: number; readonly facts: SeenFile };

/** Words the other names for the end of an outcome. */
export function describeParted(parted: number): string {
  if (parted <= 0) return '';
  return `; ${parted === 1 ? '1 other name of the file (a hard link) keeps' : `${parted} other names of the file (hard links) keep`} what it said before`;
}

/**
 * Writes a file. Makes parent folders; keeps owner, group, mode and attributes of an existing file.
 * Throws ToolFailure.
 */
export async function writeInside(
  workspace: Workspace,
  target: ConfinedPath,
  bytes: Uint8Array,
  options: WriteOptions,
): Promise<WriteResult> {
  refuseRoot(target);
  try {
    const folder = makeFolders(workspace, target);
    try {
      return await putFile(folder, target, bytes, options);
    } finally {
      folder.close();
    }
  } catch (error) {
    throw toFsFailure(error, target.name, 'written');
  }
}

/** Throws ToolFailure for a folder of the run itself. */
export function refuseRoot({ path, root, name }: ConfinedPath): void {
  if (path !== root) return;
  throw new ToolFailure(`${name === '' ? 'The workspace itself' : quotePath(path)} is a folder, not a file.`);
}

function makeFolders(workspace: Workspace, { path, existing, missing }: ConfinedPath): OpenFile {
  let at = missing.length === 0 ? dirname(path) : existing;
  let folder = openFolder(workspace, at);
  for (const segment of missing.slice(0, -1)) {
    try {
      const next = entryPath(folder, at, segment);
      makeFolder(next);
      at = join(at, segment);
      const below = openFolder(workspace, at, next);
      folder.close();
      folder = below;
    } catch (error) {
      folder.close();
      throw error;
    }
  }
  return folder;
}

/** Harmless when it exists. */
function makeFolder(path: string): void {
  try {
    mkdirSync(path);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
}

async function putFile(
  folder: OpenFile,
  { path, name }: ConfinedPath,
  bytes: Uint8Array,
  options: WriteOptions,
): Promise<WriteResult> {
  const place: WritePlace = { folder, path, name, at: entryPath(folder, dirname(path), basename(path)) };
  const before = ifPresent(() => lstatSync(place.at));
  if (before !== null) {
    requireFile(before, name);
    accessSync(place.at, constants.W_OK);
  }
  const replaced = await replaceFile(place, before, bytes, options);
  if (replaced !== null)
    return {
      did: before === null ? 'created' : 'updated',
      parted: before === null ? 0 : before.nlink - 1,
      facts: toSeenFile(path, replaced),
    };
  const written = await overwriteFile(place, before as Stats, bytes, options);
  return { did: 'updated', parted: 0, facts: toSeenFile(path, written) };
}

type WritePlace = {
  readonly folder: OpenFile;
  readonly path: string;
  readonly name: string;
  /** A name for the entry through the open folder. */
  readonly at: string;
};

/** A pipe in the place of a file would never answer. */
const NEVER_FOLLOW = constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * Returns the new file as it was put there; null where an existing file cannot be replaced by one
 * like it.
 */
async function replaceFile(
  place: WritePlace,
  before: Stats | null,
  bytes: Uint8Array,
  options: WriteOptions,
): Promise<Stats | null> {
  const { folder, path } = place;
  const temp = entryPath(folder, dirname(path), ownTemporaryName('write'));
  let written: Stats;
  try {
    const file = new OpenFile(temp, 'wx', before === null ? 0o666 : 0o600);
    try {
      await file.write(bytes);
      if (before !== null && !(await takeAttributes(place, before, file, options.programs))) {
        rmSync(temp, { force: true });
        return null;
      }
      await file.sync();
      written = file.stat();
      await checkBeforeChange(place, options);
      requireAt(folder, dirname(path));
      requireEntry(temp, file, path);
      renameSync(temp, place.at);
    } finally {
      file.close();
    }
  } catch (error) {
    rmSync(temp, { force: true });
    if (before !== null && isReplacingRefused(error)) return null;
    throw error;
  }
  await syncFolder(folder);
  return written;
}

async function takeAttributes(
  { at, path }: WritePlace,
  before: Stats,
  to: OpenFile,
  programs: Programs,
): Promise<boolean> {
  const from = new OpenFile(at, constants.O_RDONLY | NEVER_FOLLOW);
  try {
    requireSame(from.stat(), before, path);
    const copyAll = copyBy(runCp(programs.at('cp'), programs.environment()));
    return await keepAttributes(copyAll, { from: from.fd, had: before, to: to.fd });
  } finally {
    from.close();
  }
}

/**
 * Writes in place, which keeps the file, its names and its attributes. Throws ToolFailure that says
 * so when it stopped half-way.
 */
async function overwriteFile(
  place: WritePlace,
  before: Stats,
  bytes: Uint8Array,
  options: WriteOptions,
): Promise<Stats> {
  const { folder, path, name, at } = place;
  const handle = new OpenFile(at, constants.O_WRONLY | NEVER_FOLLOW);
  try {
    requireSame(handle.stat(), before, path);
    await checkBeforeChange(place, options);
    requireAt(folder, dirname(path));
    try {
      await handle.write(bytes);
      handle.truncate(bytes.length);
      await handle.sync();
      return handle.stat();
    } catch (error) {
      const why = describeSystemError(error);
      if (why === undefined) throw error;
      throw new ToolFailure(`${quotePath(name)} was written in part, in place: ${why}.`, { cause: error });
    }
  } finally {
    handle.close();
  }
}

/** Throws ToolFailure when the file must not change after all, and what the fence throws. */
async function checkBeforeChange({ at, name }: WritePlace, { fence, signal, unchanged }: WriteOptions): Promise<void> {
  await fence();
  const now = ifPresent(() => lstatSync(at));
  if (unchanged === null ? now !== null : !isUnchanged(now, unchanged)) {
    throw new ToolFailure(`${quotePath(name)} was changed by something else meanwhile: read it again.`);
  }
  if (signal.aborted) throw new ToolFailure('Stopped before anything was written.');
}

/** Syncs the folder where the file system can: the file exists all the same. */
async function syncFolder(folder: OpenFile): Promise<void> {
  await folder.sync().catch((error: NodeJS.ErrnoException) => {
    if (!['EINVAL', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EACCES', 'EPERM', 'EBADF'].includes(error.code ?? ''))
      throw error;
  });
}

function isUnchanged(now: Stats | null, then: Stats): boolean {
  return now !== null && now.ino === then.ino && now.size === then.size && now.mtimeMs === then.mtimeMs;
}
