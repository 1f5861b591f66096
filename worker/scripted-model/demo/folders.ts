// Which folders of a project get a row of their own, chosen from the source files that were found.

/** File name endings of source code, one glob call each, so that a large project shows more of itself. */
export const LANGUAGES: readonly (readonly string[])[] = [
  ['ts', 'tsx', 'mts', 'cts', 'js', 'jsx', 'mjs', 'cjs', 'vue', 'svelte'],
  ['py', 'rb', 'php', 'pl', 'lua', 'r', 'jl', 'ex', 'exs', 'erl', 'hs', 'ml', 'clj', 'sh', 'bash', 'sql'],
  [
    'go',
    'rs',
    'java',
    'kt',
    'kts',
    'scala',
    'swift',
    'cs',
    'fs',
    'dart',
    'zig',
    'c',
    'h',
    'cc',
    'cpp',
    'hpp',
    'm',
    'mm',
  ],
];

export function sourceGlob(endings: readonly string[]): string {
  return `**/*.{${endings.join(',')}}`;
}

/** Other people's code, and what a build leaves. */
const NOT_OURS = /^(?:node_modules|bower_components|vendor|dist|build|out|target|coverage|venv|__pycache__|\..+)$/;

const MOST_ROWS = 24;

/** `covers`: with the files directly in the project, these folders hold every path that was found. */
export type Folders = { readonly names: readonly string[]; readonly covers: boolean };

export function chooseFolders(paths: readonly string[]): Folders {
  const own = paths.map((path) => path.replace(/^\.\//, '')).filter((path) => !path.split('/').some(isNotOurs));
  const top = sizes(own, 1);
  const [only] = top.keys();
  const inner = top.size === 1 ? sizes(own, 2) : top;
  const byFolder = inner.size >= 2 ? inner : top;
  const largest = [...byFolder].sort(([, a], [, b]) => b - a).slice(0, MOST_ROWS);
  const names = largest.map(([name]) => name).sort();
  const direct = byFolder !== top && own.some((path) => path.split('/').length === 2 && path.startsWith(`${only}/`));
  return { names, covers: largest.length === byFolder.size && !direct && own.length === paths.length };
}

function isNotOurs(segment: string): boolean {
  return NOT_OURS.test(segment);
}

/** How many of the paths lie under each folder `depth` levels down. */
function sizes(paths: readonly string[], depth: number): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const path of paths) {
    const segments = path.split('/');
    if (segments.length <= depth) continue;
    const folder = segments.slice(0, depth).join('/');
    found.set(folder, (found.get(folder) ?? 0) + 1);
  }
  return found;
}
