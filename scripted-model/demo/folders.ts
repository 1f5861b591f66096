// Chooses the folders of a project that get a row of their own, from the source files that were
// found.

/**
 * File name endings of source code, one glob call each, so that a large project shows more of
 * itself.
 */
export const LANGUAGES: readonly (readonly string[])[] = [
  'ts tsx mts cts js jsx mjs cjs vue svelte',
  'py rb php pl lua r jl ex exs erl hs ml clj sh bash sql',
  'go rs java kt kts scala swift cs fs dart zig c h cc cpp hpp m mm',
].map((endings) => endings.split(' '));

export function buildSourceGlob(endings: readonly string[]): string {
  return `**/*.{${endings.join(',')}}`;
}

/** Other people's code and build output, at the top of a project. */
const NOT_OURS =
  /^(?:node_modules|bower_components|vendor|dist|build|out|target|coverage|venv|__pycache__|\.[^/]+)(?:\/|$)/;

export function isNotOurs(path: string): boolean {
  return NOT_OURS.test(path);
}

const MOST_ROWS = 24;

type Folders = {
  readonly names: readonly string[];
  /** Folders that are left out of every count. */
  readonly notOurs: readonly string[];
  /** With the files directly in the project, `names` hold every path of its own. */
  readonly covers: boolean;
};

export function chooseFolders(found: readonly string[]): Folders {
  const paths = found.map((path) => path.replace(/^\.\//, ''));
  const own = paths.filter((path) => !isNotOurs(path));
  const top = countByFolder(own, 1);
  const inner = top.size === 1 ? countByFolder(own, 2) : top;
  const byFolder = inner.size >= 2 ? inner : top;
  const largest = [...byFolder].sort(([, a], [, b]) => b - a).slice(0, MOST_ROWS);
  const covered = largest.reduce((sum, [, size]) => sum + size, 0);
  const atRoot = own.filter((path) => !path.includes('/')).length;
  return {
    names: largest.map(([name]) => name).sort(),
    notOurs: [...countByFolder(paths.filter(isNotOurs), 1).keys()].sort(),
    covers: covered + atRoot === own.length,
  };
}

/**
 * Returns globs for the part that a cut listing did not reach: one folder has taken most of it, so
 * these leave out names that begin as that one does. Empty when no folder stands out or its name
 * cannot stand in a glob.
 */
export function buildFurtherGlobs(found: readonly string[]): readonly string[] {
  const [first] = [...countByFolder(found, 1)].sort(([, a], [, b]) => b - a);
  const initial = first?.[0].charAt(0) ?? '';
  return /\w/.test(initial) ? LANGUAGES.map((endings) => `[!${initial}]*/${buildSourceGlob(endings)}`) : [];
}

/** Counts the paths under each folder `depth` levels down. */
function countByFolder(paths: readonly string[], depth: number): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const path of paths) {
    const segments = path.split('/');
    if (segments.length <= depth) continue;
    const folder = segments.slice(0, depth).join('/');
    found.set(folder, (found.get(folder) ?? 0) + 1);
  }
  return found;
}
