// Finds out whether a path that looks like one of the run's folders leads out of them through a
// link. It is synchronous because it decides whether a call may start at once, and it looks at a
// bounded number of names.
import { join } from 'node:path';
import { opendirSync, realpathSync, type Dirent } from 'node:fs';
import { findDataFolder } from '../../../system/process/data-folders.ts';
import { isInReach, isInside, type Reach } from '../../../system/process/places.ts';

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
