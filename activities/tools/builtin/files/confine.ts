// Keeps file tools inside the workspace: by the real path of what exists, never by comparing prefixes. Every refusal is an
// ordinary failure the model can read (L34).
import { lstat, realpath } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve } from 'node:path';
import { opendirSync, realpathSync, type Dirent } from 'node:fs';
import { ToolFailure } from '../../tool.ts';
import { isInside } from '../../../process/places.ts';

export type Workspace = {
  /** An absolute real path. */
  readonly root: string;
  /** Where relative paths begin; the root when absent. */
  readonly dir?: string;
  /** Perdure's own data, out of reach unless the workspace lies in it. */
  readonly hidden?: string | undefined;
  /** Whether the call may use this real path: what its own leads to may have changed since it was judged. Absent: any. */
  readonly mayUse?: ((path: string) => boolean) | undefined;
};

export type Confined = {
  /** Without links as far as it exists. */
  readonly path: string;
  /** Relative to the workspace root; '' is the root itself. */
  readonly name: string;
  /** The deepest part of `path` that exists. */
  readonly existing: string;
  /** The segments below it. */
  readonly missing: readonly string[];
};

const MAX_PATH = 4_096;

/** Where `path` leads, links followed. Throws ToolFailure when that is not in the workspace. */
export async function confine(workspace: Workspace, path: string): Promise<Confined> {
  if (path === '' || path.includes('\0'))
    throw new ToolFailure(`${quotePath(path)} is no path: it is empty or holds a NUL.`);
  if (path.length > MAX_PATH) throw new ToolFailure(`${quotePath(path)} is longer than ${MAX_PATH} characters.`);
  const { existing, missing } = await deepestExisting(resolve(workspace.dir ?? workspace.root, path), path);
  if (!isInside(workspace.root, existing)) {
    throw new ToolFailure(`${quotePath(path)} is outside the workspace ${workspace.root}: use a path inside it.`);
  }
  const real = join(existing, ...missing);
  if (await isHidden(workspace, real)) throw new ToolFailure(`${quotePath(path)} is part of Perdure's own data.`);
  if (workspace.mayUse?.(real) === false) {
    throw new ToolFailure(`${quotePath(path)} leads elsewhere than when the call was judged: make the call again.`);
  }
  return { path: real, name: relative(workspace.root, real), existing, missing };
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
      // A path that exists but leads nowhere is a link: writing through it would create a file wherever it points.
      if ((await lstat(at).catch(nullIfAbsent)) !== null)
        throw new ToolFailure(`${quotePath(asked)} is a link to nothing.`);
      missing.unshift(basename(at));
    }
  } catch (error) {
    throw fsFailure(error, asked);
  }
}

// Paths between the workspace root, which rules and confinement are about, and the working directory, which the model writes them
// from (L38).

type Place = { readonly cwd: string; readonly dir: string };

/** A path as it was written, as one from the root. */
export function fromRoot(path: string, { cwd, dir }: Place): string {
  return dir === cwd || isAbsolute(path) ? path : join(relative(cwd, dir), path);
}

/** A name relative to the root as the model can give it back: relative to the working directory. */
export function toDir({ cwd, dir }: Place): (name: string) => string {
  return dir === cwd ? (name) => name : (name) => relative(dir, join(cwd, name));
}

// The system's refusals as sentences the model can act on. What is not listed here is a defect and stays an error.

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'it does not exist',
  ELOOP: 'its links go round in a circle, or it was replaced by a link while it was being used',
  ENOTDIR: 'a part of it is a file, not a folder',
  EISDIR: 'it is a folder',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
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

/** A ToolFailure that names the path, or the error itself when it is none of the system's ordinary refusals. */
export function fsFailure(error: unknown, path: string, deed = 'used'): unknown {
  const why = REASONS[(error as NodeJS.ErrnoException).code ?? ''];
  return why === undefined ? error : new ToolFailure(`${quotePath(path)} cannot be ${deed}: ${why}.`, { cause: error });
}

/** Null for what is not there; any other error is thrown. */
export function nullIfAbsent(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null;
  throw error;
}

// Whether a path that looks like one of the workspace leads out of it through a link. Synchronous: it is part of the decision
// whether a call may start at once, and it looks at a bounded number of names.

const MOST_ENTRIES = 20_000;

/** `forbidden` is Perdure's own data, which counts as outside wherever it lies. */
export function leavesWorkspace(cwd: string, paths: readonly ShellPath[], forbidden: string | undefined): boolean {
  const hidden = forbidden === undefined ? null : realOf(forbidden);
  const leaves = (path: string): boolean => {
    const real = realOf(path);
    if (real === null) return false;
    return !isInside(cwd, real) || (hidden !== null && isInside(hidden, real) && !isInside(hidden, cwd));
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
