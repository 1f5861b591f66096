// Whether a path that looks like one of the workspace leads out of it through a link. Synchronous: it is part of the decision
// whether a call may start at once, and it looks at a bounded number of names.
import { opendirSync, realpathSync, type Dirent } from 'node:fs';
import { join } from 'node:path';
import { isInside } from './confine.ts';
import type { ShellPath } from '../shell/read-only-shell.ts';

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
