// Puts a file into the workspace whole or not at all: written beside its place, then renamed. Every step names its entry through
// an open folder, so that no swap of a folder for a link can lead it outside.
import { randomBytes } from 'node:crypto';
import type { Stats } from 'node:fs';
import { access, constants, lstat, mkdir, open, rename, rm, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { ToolFailure } from '../../tool.ts';
import type { Confined, Workspace } from './confine.ts';
import { absent, fsFailure, shown } from './fs-failure.ts';
import { entryOf, openFolder, requireAt, requireFile } from './open-inside.ts';

export type WriteOptions = {
  /** Awaited just before the rename: of a worker that was frozen meanwhile nothing is written. */
  readonly fence: () => Promise<void>;
  /** Checked just before the rename: nothing is written by a call that was stopped. */
  readonly signal: AbortSignal;
  /** What the file was when it was read; it must still be that. */
  readonly unchanged?: Stats;
};

/** Makes parent folders; keeps the mode of a file that was there. Throws ToolFailure. */
export async function writeInside(
  workspace: Workspace,
  target: Confined,
  bytes: Uint8Array,
  options: WriteOptions,
): Promise<'created' | 'updated'> {
  if (target.name === '') throw new ToolFailure('The workspace itself is a folder, not a file.');
  try {
    const folder = await makeFolders(workspace, target);
    try {
      return await replace(folder, target, bytes, options);
    } finally {
      await folder.close();
    }
  } catch (error) {
    throw fsFailure(error, target.name, 'written');
  }
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

async function replace(
  folder: FileHandle,
  { path, name }: Confined,
  bytes: Uint8Array,
  options: WriteOptions,
): Promise<'created' | 'updated'> {
  const place = entryOf(folder, dirname(path), basename(path));
  const before = await lstat(place).catch(absent);
  if (before !== null) {
    requireFile(before, name);
    await access(place, constants.W_OK);
  }
  const temp = entryOf(folder, dirname(path), `.perdure-${randomBytes(8).toString('hex')}.tmp`);
  try {
    await writeNew(temp, bytes, before?.mode);
    await lastCheck(place, name, options);
    await requireAt(folder, dirname(path));
    await rename(temp, place);
  } catch (error) {
    await rm(temp, { force: true });
    throw error;
  }
  await folder.sync();
  return before === null ? 'created' : 'updated';
}

/** Throws ToolFailure when the rename must not happen after all, and what the fence throws. */
async function lastCheck(place: string, name: string, { fence, signal, unchanged }: WriteOptions): Promise<void> {
  await fence();
  if (unchanged !== undefined && !isSame(await lstat(place).catch(absent), unchanged)) {
    throw new ToolFailure(`${shown(name)} was changed by something else meanwhile: read it again.`);
  }
  if (signal.aborted) throw new ToolFailure('Stopped before anything was written.');
}

async function writeNew(path: string, bytes: Uint8Array, mode: number | undefined): Promise<void> {
  const handle = await open(path, 'wx', 0o666);
  try {
    await handle.writeFile(bytes);
    if (mode !== undefined) await handle.chmod(mode & 0o7777);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function isSame(now: Stats | null, then: Stats): boolean {
  return now !== null && now.ino === then.ino && now.size === then.size && now.mtimeMs === then.mtimeMs;
}
