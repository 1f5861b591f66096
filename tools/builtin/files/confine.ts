// Keeps file tools inside the folders of a run, its workspace and the others: by the real path of
// what exists, never by comparing prefixes. Every refusal is an ordinary failure the model can read
// (L34).
import { lstat, realpath } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve } from 'node:path';
import { opendirSync, realpathSync, type Dirent } from 'node:fs';
import { ToolFailure, type ToolContext } from '../../tool.ts';
import { isInReach, isInside, type Reach, rootsOf } from '../../../system/process/places.ts';

export type Workspace = {
  /** An absolute real path. */
  readonly root: string;
  /** Other folders of the run, absolute real paths. */
  readonly folders?: readonly string[] | undefined;
  /** Where relative paths begin; the root when absent. */
  readonly dir?: string;
  /** Perdure's own data, out of reach unless the workspace lies in it. */
  readonly hidden?: string | undefined;
  /**
   * Whether the call may use this real path: what its own leads to may have changed since it was
   * judged. Absent: any.
   */
  readonly mayUse?: ((path: string) => boolean) | undefined;
};

export type Confined = {
  /** Without links as far as it exists. */
  readonly path: string;
  /** Relative to the workspace root, '' the root itself; in another folder the path. */
  readonly name: string;
  /** The workspace root, or the other folder that it lies in. */
  readonly root: string;
  /** The deepest part of `path` that exists. */
  readonly existing: string;
  /** The segments below it. */
  readonly missing: readonly string[];
};

const MAX_PATH = 4_096;

/** What a tool is given of its run, and what it is not to reach. */
export function workspaceOf(
  { cwd, folders, dir, mayUse }: Pick<ToolContext, 'cwd' | 'folders' | 'dir' | 'mayUse'>,
  dataDir: string | undefined,
): Workspace {
  return { root: cwd, folders, dir, hidden: dataDir, mayUse };
}

/** Where `path` leads, links followed. Throws ToolFailure when that is in no folder of the run. */
export async function confine(workspace: Workspace, path: string): Promise<Confined> {
  if (path === '' || path.includes('\0'))
    throw new ToolFailure(`${quotePath(path)} is no path: it is empty or holds a NUL.`);
  if (path.length > MAX_PATH) throw new ToolFailure(`${quotePath(path)} is longer than ${MAX_PATH} characters.`);
  const written = resolve(workspace.dir ?? workspace.root, path);
  const { existing, missing } = await deepestExisting(written, path);
  const root = rootOf(workspace, existing);
  if (root === undefined) throw new ToolFailure(outside(workspace, path, written));
  const real = join(existing, ...missing);
  if (await isHidden(workspace, real)) throw new ToolFailure(`${quotePath(path)} is part of Perdure's own data.`);
  if (workspace.mayUse?.(real) === false) {
    throw new ToolFailure(`${quotePath(path)} leads elsewhere than when the call was judged: make the call again.`);
  }
  const name = root === workspace.root ? relative(root, real) : real;
  return { path: real, name, root, existing, missing };
}

/** The folder of the run that an absolute path lies in: the workspace before others. */
export function rootOf({ root, folders }: Workspace, path: string): string | undefined {
  return rootsOf({ cwd: root, folders }).find((folder) => isInside(folder, path));
}

function outside({ root, folders = [] }: Workspace, path: string, written: string): string {
  const gone = folders.find((folder) => isInside(folder, written) && realOf(folder) !== folder);
  if (gone !== undefined) return `${quotePath(path)} cannot be used: ${sayGone(gone)}.`;
  const others = folders.length === 0 ? '' : ` and the other folders of this run (${folders.join(', ')})`;
  return `${quotePath(path)} is outside the workspace ${root}${others}: use a path inside ${others === '' ? 'it' : 'them'}.`;
}

/** Of a folder that was there when the run was opened. */
export function sayGone(folder: string): string {
  return `the folder ${folder} is gone, or a link is in its place; go on without it`;
}

async function isHidden({ root, hidden }: Workspace, path: string): Promise<boolean> {
  if (hidden === undefined) return false;
  const data = await realpath(hidden).catch(nullIfAbsent);
  return data !== null && isInside(data, path) && !isInside(data, root);
}

async function deepestExisting(from: string, asked: string): Promise<{ existing: string; missing: string[] }> {
  const missing: string[] = [];
  try {
    for (let at = from; ; at = dirname(at)) {
      const existing = await realpath(at).catch(nullIfAbsent);
      if (existing !== null) return { existing, missing };
      // A path that exists but leads nowhere is a link: writing through it would create a file
      // wherever it points.
      if ((await lstat(at).catch(nullIfAbsent)) !== null)
        throw new ToolFailure(`${quotePath(asked)} is a link to nothing.`);
      missing.unshift(basename(at));
    }
  } catch (error) {
    throw fsFailure(error, asked);
  }
}

// Paths between the workspace root, which rules and confinement are about, and the working
// directory, which the model writes them from (L38).

type Place = { readonly cwd: string; readonly dir: string };

/** A path as it was written, as one from the root. */
export function fromRoot(path: string, { cwd, dir }: Place): string {
  return dir === cwd || isAbsolute(path) ? path : join(relative(cwd, dir), path);
}

/** A name relative to the root as the model can give it back: relative to the working directory. */
export function toDir({ cwd, dir }: Place): (name: string) => string {
  return dir === cwd ? (name) => name : (name) => relative(dir, join(cwd, name));
}

// The system's refusals as sentences the model can act on. What is not listed here is a defect and
// stays an error.

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'it does not exist',
  ELOOP: 'its links go round in a circle, or it was replaced by a link while it was being used',
  ENOTDIR: 'a part of it is a file, not a folder',
  EISDIR: 'it is a folder',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  EBUSY: 'it is in use, or something is mounted on it',
  ETXTBSY: 'it is a program that runs now',
  ENAMETOOLONG: 'it, or a part of it, is too long',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EIO: 'the disk failed',
  EMFILE: 'too many files are open; try again',
  ENFILE: 'too many files are open; try again',
  ENXIO: 'it is a socket or a device',
};

/** `path` as it may be shown: quoted and bounded. */
export function quotePath(path: string): string {
  return JSON.stringify(path.length > 200 ? `${path.slice(0, 200)}…` : path);
}

/** Why the system refused, in words; undefined for what is no ordinary refusal. */
export function reasonOfSystem(error: unknown): string | undefined {
  return REASONS[(error as NodeJS.ErrnoException).code ?? ''];
}

/**
 * A ToolFailure that names the path, or the error itself when it is none of the system's ordinary
 * refusals.
 */
export function fsFailure(error: unknown, path: string, deed = 'used'): unknown {
  const why = reasonOfSystem(error);
  return why === undefined ? error : new ToolFailure(`${quotePath(path)} cannot be ${deed}: ${why}.`, { cause: error });
}

/** Null for what is not there; any other error is thrown. */
export function nullIfAbsent(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null;
  throw error;
}

// Whether a path that looks like one of the run's folders leads out of them through a link.
// Synchronous: it is part of the decision whether a call may start at once, and it looks at a
// bounded number of names.

const MOST_ENTRIES = 20_000;

/** `forbidden` is Perdure's own data, which counts as outside wherever it lies. */
export function leavesWorkspace(reach: Reach, paths: readonly ShellPath[], forbidden: string | undefined): boolean {
  const hidden = forbidden === undefined ? null : realOf(forbidden);
  const leaves = (path: string): boolean => {
    const real = realOf(path);
    if (real === null) return false;
    return !isInReach(reach, real) || (hidden !== null && isInside(hidden, real) && !isInside(hidden, reach.cwd));
  };
  const looked = new Map<string, readonly Dirent[] | null>();
  const inFolder = (path: string): readonly Dirent[] | null => {
    const known = looked.get(path) ?? entriesOf(path);
    looked.set(path, known);
    return known;
  };
  const entriesLeave = ({ path, bare }: ShellPath): boolean =>
    inFolder(path)?.some(
      (entry) =>
        (bare === true && entry.name.startsWith('-')) || (entry.isSymbolicLink() && leaves(join(path, entry.name))),
    ) ?? true;
  return paths.some((each) => leaves(each.path) || (each.entries && entriesLeave(each)));
}

/** Null for a folder of more than can be looked at: in doubt. */
function entriesOf(path: string): readonly Dirent[] | null {
  const found: Dirent[] = [];
  try {
    const folder = opendirSync(path, { bufferSize: 1_000 });
    try {
      for (let entry = folder.readSync(); entry !== null; entry = folder.readSync()) {
        if (found.push(entry) > MOST_ENTRIES) return null;
      }
    } finally {
      folder.closeSync();
    }
  } catch (error) {
    if (!isUnreachable(error)) throw error;
  }
  return found;
}

/** Null for what cannot be reached: the command will not reach it either. */
function realOf(path: string): string | null {
  try {
    return realpathSync.native(path);
  } catch (error) {
    if (isUnreachable(error)) return null;
    throw error;
  }
}

function isUnreachable(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR', 'EACCES', 'EPERM', 'ELOOP', 'ENAMETOOLONG'].includes(
    (error as NodeJS.ErrnoException).code ?? '',
  );
}

export type ShellPath = {
  readonly path: string;
  /** The content of the path, if it is a folder, is meant too. */
  readonly entries: boolean;
  /** The names of what lies in it are put where an option may stand. */
  readonly bare?: true;
};
