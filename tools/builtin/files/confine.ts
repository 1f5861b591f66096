// Keeps file tools inside the folders of a run, its workspace and the others: by the real path of
// what exists, never by comparing prefixes. Every refusal is an ordinary failure that the model can
// read (L34).
import { type Dirent, lstatSync, opendirSync, realpathSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, relative, resolve } from 'node:path';
import { findDataFolder } from '../../../system/process/data-folders.ts';
import { isInReach, isInside, type Reach, rootsOf } from '../../../system/process/places.ts';
import { type ToolContext, ToolFailure } from '../../tool.ts';
import { ifPresent, quotePath, toFsFailure } from './fs-failures.ts';

export type Workspace = {
  /** An absolute real path. */
  readonly root: string;
  /** Other folders of the run, absolute real paths. */
  readonly folders?: readonly string[] | undefined;
  /** The folder in which relative paths begin; the root when absent. */
  readonly dir?: string;
  /**
   * Perdure's own data, out of reach unless the workspace lies in it, as is every other data
   * folder.
   */
  readonly hidden?: string | undefined;
  /**
   * Tells whether the call may use this real path: what its own leads to may have changed since it
   * was judged. Absent: any.
   */
  readonly mayUse?: ((path: string) => boolean) | undefined;
};

export type ConfinedPath = {
  /** The path without links as far as it exists. */
  readonly path: string;
  /**
   * The name relative to the workspace root, '' for the root itself; in another folder it is the
   * path.
   */
  readonly name: string;
  /** The workspace root, or the other folder that the path lies in. */
  readonly root: string;
  /** The deepest part of `path` that exists. */
  readonly existing: string;
  /** The segments below it. */
  readonly missing: readonly string[];
};

const MAX_PATH = 4_096;

/** Builds the workspace from what a tool is given of its run, and from what it may not reach. */
export function toWorkspace(
  { cwd, folders, dir, mayUse }: Pick<ToolContext, 'cwd' | 'folders' | 'dir' | 'mayUse'>,
  dataDir: string | undefined,
): Workspace {
  return { root: cwd, folders, dir, hidden: dataDir, mayUse };
}

/**
 * Finds where `path` leads, links followed. Throws ToolFailure when that is in no folder of the
 * run.
 */
export function confine(workspace: Workspace, path: string): ConfinedPath {
  if (path === '' || path.includes('\0'))
    throw new ToolFailure(`${quotePath(path)} is no path: it is empty or holds a NUL.`);
  if (path.length > MAX_PATH) throw new ToolFailure(`${quotePath(path)} is longer than ${MAX_PATH} characters.`);
  const written = resolve(workspace.dir ?? workspace.root, path);
  const { existing, missing } = findDeepestExisting(written, path);
  const root = findRoot(workspace, existing);
  if (root === undefined) throw new ToolFailure(describeOutside(workspace, path, written));
  const real = join(existing, ...missing);
  if (isHidden(workspace, real)) throw new ToolFailure(`${quotePath(path)} is part of Perdure's own data.`);
  if (workspace.mayUse?.(real) === false) {
    throw new ToolFailure(`${quotePath(path)} leads elsewhere than when the call was judged: make the call again.`);
  }
  const name = root === workspace.root ? relative(root, real) : real;
  return { path: real, name, root, existing, missing };
}

/** Finds the folder of the run that an absolute path lies in: the workspace before others. */
export function findRoot({ root, folders }: Workspace, path: string): string | undefined {
  return rootsOf({ cwd: root, folders }).find((folder) => isInside(folder, path));
}

function describeOutside({ root, folders = [] }: Workspace, path: string, written: string): string {
  const missing = folders.find((folder) => isInside(folder, written) && realPathOrNull(folder) !== folder);
  if (missing !== undefined) return `${quotePath(path)} cannot be used: ${describeGoneFolder(missing)}.`;
  const others = folders.length === 0 ? '' : ` and the other folders of this run (${folders.join(', ')})`;
  return `${quotePath(path)} is outside the workspace ${root}${others}: use a path inside ${others === '' ? 'it' : 'them'}.`;
}

/** Says that a folder is gone that existed when the run was opened. */
export function describeGoneFolder(folder: string): string {
  return `the folder ${folder} is gone, or a link is in its place; go on without it`;
}

function isHidden({ root, hidden }: Workspace, path: string): boolean {
  const data = hidden === undefined ? null : ifPresent(() => realpathSync.native(hidden));
  if (data !== null && isInside(data, path) && !isInside(data, root)) return true;
  return findDataFolder(path, root) !== null;
}

function findDeepestExisting(from: string, requested: string): { existing: string; missing: string[] } {
  const missing: string[] = [];
  try {
    for (let at = from; ; at = dirname(at)) {
      const existing = ifPresent(() => realpathSync.native(at));
      if (existing !== null) return { existing, missing };
      // A path that exists but leads nowhere is a link: writing through it would create a file
      // wherever it points.
      if (ifPresent(() => lstatSync(at)) !== null)
        throw new ToolFailure(`${quotePath(requested)} is a link to nothing.`);
      missing.unshift(basename(at));
    }
  } catch (error) {
    throw toFsFailure(error, requested);
  }
}

// Finds out whether a path that looks like one of the run's folders leads out of them through a
// link. It is synchronous because it decides whether a call may start at once, and it looks at a
// bounded number of names.
const MOST_ENTRIES = 20_000;

/**
 * Tells whether one of the paths leads out of the run's folders. `forbidden` is Perdure's own data,
 * which counts as outside wherever it lies, and so does every other data folder.
 */
export function leadsOutOfWorkspace(reach: Reach, paths: readonly ShellPath[], forbidden: string | undefined): boolean {
  const hidden = forbidden === undefined ? null : realPathOrNull(forbidden);
  const leaves = (path: string): boolean => {
    const real = realPathOrNull(path);
    if (real === null) return false;
    if (!isInReach(reach, real) || findDataFolder(real, reach.cwd) !== null) return true;
    return hidden !== null && isInside(hidden, real) && !isInside(hidden, reach.cwd);
  };
  const looked = new Map<string, readonly Dirent[] | null>();
  const inFolder = (path: string): readonly Dirent[] | null => {
    const known = looked.get(path) ?? listEntries(path);
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

/** Lists a folder; null when it has more entries than may be looked at, which counts as doubt. */
function listEntries(path: string): readonly Dirent[] | null {
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

/** Returns null for a path that cannot be reached: the command will not reach it either. */
export function realPathOrNull(path: string): string | null {
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
  /** The names of the entries are put where an option may stand. */
  readonly bare?: true;
};

// Converts paths between the workspace root, which rules and confinement are about, and the working
// directory, which the model writes them from (L38).
type WorkingPlace = { readonly cwd: string; readonly dir: string };

/** Turns a path as it was written into one from the root. */
export function fromRoot(path: string, { cwd, dir }: WorkingPlace): string {
  return dir === cwd || isAbsolute(path) ? path : join(relative(cwd, dir), path);
}

/**
 * Turns a name relative to the root into one that the model can give back: relative to the working
 * directory.
 */
export function toDir({ cwd, dir }: WorkingPlace): (name: string) => string {
  return dir === cwd ? (name) => name : (name) => relative(dir, join(cwd, name));
}
