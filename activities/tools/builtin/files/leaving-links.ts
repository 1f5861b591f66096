// Whether a path that looks like one of the workspace leads out of it through a link. Synchronous: it is part of the decision
// whether a call may start at once, and it looks at a handful of names.
import { readdirSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { isInside } from './confine.ts';
import type { ShellPath } from '../shell/read-only-shell.ts';

/** `forbidden` is Perdure's own data, which counts as outside wherever it lies. */
export function leavesWorkspace(cwd: string, paths: readonly ShellPath[], forbidden: string | undefined): boolean {
  const hidden = forbidden === undefined ? null : realOf(forbidden);
  const leaves = (path: string): boolean => {
    const real = realOf(path);
    if (real === null) return false;
    return !isInside(cwd, real) || (hidden !== null && isInside(hidden, real) && !isInside(hidden, cwd));
  };
  return paths.some(({ path, entries }) => leaves(path) || (entries && linksIn(path).some((link) => leaves(link))));
}

function linksIn(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isSymbolicLink())
      .map((entry) => join(folder, entry.name));
  } catch (error) {
    if (isUnreachable(error)) return [];
    throw error;
  }
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
