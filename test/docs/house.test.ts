// The house rules that a linter does not know: rooms of a size that one sitting reads, and helpers that live with whom they help.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '../..');
const MOST_IN_A_FOLDER = 15;
const SMALL = 45;

/** A folder of entries of one table: each has a file, however short, and the table imports them all. */
const tables = ['client/cli/commands', 'activities/tools/builtin'];
/** The bodies of activities, and the table of them. */
const bodies = ['activities/index.ts', 'activities/commit.ts', 'activities/run-tool.ts'];

const files = ['activities', 'client', 'worker', 'workflows'].flatMap((top) =>
  readdirSync(join(root, top), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => join(top, name)),
);
const text = new Map(files.map((file) => [file, readFileSync(join(root, file), 'utf8')]));

const imports = new Map(files.map((file) => [file, importsOf(file)]));

function importsOf(file: string): ReadonlySet<string> {
  const found = (text.get(file) ?? '').matchAll(/(?:from|import\()\s*'(\.[^']+)'/g);
  return new Set([...found].map(([, path = '']) => relative(root, resolve(root, dirname(file), path))));
}

test('a folder holds what one sitting reads, but for tables that have a file an entry', () => {
  const sizes = new Map<string, string[]>();
  for (const file of files) sizes.set(dirname(file), [...(sizes.get(dirname(file)) ?? []), file]);
  const large = [...sizes].filter(([folder, { length }]) => length > MOST_IN_A_FOLDER && !tables.includes(folder));
  expect(large.map(([folder, { length }]) => `${folder}: ${length}`)).toEqual([]);
});

test('a small file with one importer, in its own folder, is a part of it', () => {
  const misplaced = files.flatMap((file) => {
    const lines = (text.get(file) ?? '').split('\n').length - 1;
    if (lines > SMALL || tables.includes(dirname(file)) || bodies.includes(file)) return [];
    const importers = files.filter((other) => imports.get(other)?.has(file));
    const [only = ''] = importers;
    return importers.length === 1 && dirname(only) === dirname(file) ? [`${file} belongs to ${only}`] : [];
  });
  expect(misplaced).toEqual([]);
});
