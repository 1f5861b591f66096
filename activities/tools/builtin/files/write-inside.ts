// Puts a file into the workspace whole or not at all: written beside its place, then renamed. Every step names its entry through
// an open folder, so that no swap of a folder for a link can lead it outside.
import { randomBytes } from 'node:crypto';
import type { Stats } from 'node:fs';
import { access, constants, lstat, mkdir, open, rename, rm, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { ToolFailure, type PermissionDecision } from '../../tool.ts';
import { type Confined, type Workspace, nullIfAbsent, fsFailure, quotePath } from './confine.ts';
import { entryOf, openFolder, requireAt, requireFile } from './open-inside.ts';
import type { PermissionMode } from '../../../../workflows/contract/session.ts';
import { guardOf, type Places } from '../../../process/places.ts';

type WriteOptions = {
  /** Awaited just before the rename: of a worker that was frozen meanwhile nothing is written. */
  readonly fence: () => Promise<void>;
  /** Checked just before the rename: nothing is written by a call that was stopped. */
  readonly signal: AbortSignal;
  /** The state of the file when it was read; it must still be that. */
  readonly unchanged?: Stats;
};

/** Makes parent folders; keeps the mode of a file that was there. Throws ToolFailure. */
export async function writeInside(
  workspace: Workspace,
  target: Confined,
  bytes: Uint8Array,
  options: WriteOptions,
): Promise<'created' | 'updated'> {
  if (target.path === target.root) {
    const what = target.name === '' ? 'The workspace itself' : quotePath(target.path);
    throw new ToolFailure(`${what} is a folder, not a file.`);
  }
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
  const before = await lstat(place).catch(nullIfAbsent);
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
  if (unchanged !== undefined && !isSame(await lstat(place).catch(nullIfAbsent), unchanged)) {
    throw new ToolFailure(`${quotePath(name)} was changed by something else meanwhile: read it again.`);
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

// The care of tools that change files for places whose content runs outside the sandbox later (process/places.ts).

type Place = { readonly cwd: string; readonly dir: string };

const RUNS = 'what it says runs outside the sandbox later';

/** By the name that was written: where it leads is looked at when it is opened. */
export function guardDecision(
  places: Places,
  path: string,
  { cwd, dir, mode }: Place & { readonly mode: PermissionMode },
): PermissionDecision | undefined {
  const guard = guardOf(places, cwd, resolve(dir, path));
  if (guard === undefined) return undefined;
  if (guard === 'own') return { kind: 'deny', why: 'it is a file that Perdure itself runs from' };
  // Here nobody is asked.
  if (mode === 'bypass') return { kind: 'deny', why: `${RUNS}, and in permission mode "bypass" nobody is asked` };
  return { kind: 'ask', why: RUNS };
}

/** A sentence when a path leads to such a place without saying so: nobody was asked about that. */
export function hiddenGuardProblem(
  places: Places,
  asked: string,
  real: string,
  { cwd, dir }: Place,
): string | undefined {
  const guard = guardOf(places, cwd, real);
  if (guard === undefined || guard === guardOf(places, cwd, resolve(dir, asked))) return undefined;
  return `The path leads through a link to a file of which ${RUNS}: name the file itself.`;
}

// Git runs programs that files in a .git folder name, so changing one there is as good as running a command.

/** Whether a path names a .git folder, or something in one. Without regard to case: some file systems have none. */
export function namesGitFolder(path: string): boolean {
  return path.split(/[/\\]/).some((segment) => segment.toLowerCase() === '.git');
}

/** A sentence when a path leads into a .git folder without saying so: it was judged by its name (L55). */
export function hiddenGitProblem(asked: string, real: string): string | undefined {
  if (!namesGitFolder(real) || namesGitFolder(asked)) return undefined;
  return 'The path leads into a .git folder through a link: name the folder itself.';
}
