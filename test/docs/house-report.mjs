// Places to look at, which `npm run check` prints and never fails for: folders that have grown,
// small files that only one other file of their folder needs, and comments that are wider than a
// page.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const MOST_IN_A_FOLDER = 15;
const SMALL_LINES = 45;
const COMMENT_COLUMNS = 100;
/** Folders of the entries of a table, of which each may have a file of its own, however short. */
const TABLES = ['cli/commands', 'tools/builtin'];
/** The folders of the product. */
export const TOPS = [
  'activities',
  'cli',
  'client',
  'connection',
  'managed',
  'models',
  'page',
  'scripted-model',
  'store',
  'system',
  'tools',
  'worker',
  'workflows',
];

/**
 * A line for each kind of place, with how many there are and the first of them.
 * @param {ReadonlyMap<string, string>} texts Source files by their path from the root.
 * @returns {readonly string[]}
 */
export function houseReport(texts) {
  return [
    describePlaces(`folders with more than ${MOST_IN_A_FOLDER} files`, largeFolders([...texts.keys()])),
    describePlaces(
      `files of at most ${SMALL_LINES} lines that one other file of their folder needs`,
      smallFiles(texts),
    ),
    describePlaces(`comment lines wider than ${COMMENT_COLUMNS} columns`, wideComments(texts)),
  ];
}

function describePlaces(kind, places) {
  const shown = places.slice(0, 3).join(', ');
  return `${places.length} ${kind}${shown === '' ? '' : `: ${shown}${places.length > 3 ? ', …' : ''}`}`;
}

function largeFolders(files) {
  const sizes = new Map();
  for (const file of files) sizes.set(dirname(file), (sizes.get(dirname(file)) ?? 0) + 1);
  return [...sizes]
    .filter(([folder, size]) => size > MOST_IN_A_FOLDER && !TABLES.includes(folder))
    .map(([folder, size]) => `${folder} (${size})`);
}

function smallFiles(texts) {
  const importers = new Map();
  for (const [file, text] of texts) {
    for (const [, path] of text.matchAll(/(?:from|import\()\s*'(\.[^']+)'/g)) {
      const imported = join(dirname(file), path);
      importers.set(imported, (importers.get(imported) ?? new Set()).add(file));
    }
  }
  return [...texts].flatMap(([file, text]) => {
    const [only, ...others] = importers.get(file) ?? [];
    const isSmall = text.split('\n').length - 1 <= SMALL_LINES && !TABLES.includes(dirname(file));
    return isSmall && only !== undefined && others.length === 0 && dirname(only) === dirname(file) ? [file] : [];
  });
}

function wideComments(texts) {
  return [...texts].flatMap(([file, text]) =>
    text
      .split('\n')
      .flatMap((line, at) =>
        /^\s*(\/\/|\/?\*)/.test(line) && line.length > COMMENT_COLUMNS ? [`${file}:${at + 1}`] : [],
      ),
  );
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
  const files = TOPS.flatMap((top) =>
    readdirSync(join(root, top), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.tsx?$/.test(name))
      .map((name) => join(root, top, name)),
  );
  const texts = new Map(files.map((file) => [relative(root, file), readFileSync(file, 'utf8')]));
  for (const line of houseReport(texts)) console.log(line);
}
