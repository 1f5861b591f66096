// Converts paths between the workspace root, which rules and confinement are about, and the working
// directory, which the model writes them from (L38).
import { isAbsolute, join, relative } from 'node:path';

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
