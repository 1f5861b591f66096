// How a test is titled: the subject first, the ids of what it proves last, and short enough to be
// read in a list.
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const root = new URL('../', import.meta.url).pathname;
const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.test.ts'));
const sources = files.sort().map((file) => ({ file, source: readFileSync(`${root}${file}`, 'utf8') }));

/**
 * The titles that stand in a call of `test`, and those that start with ids, wherever they stand.
 */
function titles(source: string): readonly string[] {
  const called = source.matchAll(/^\s*(?:test(?:\.\w+)*|\]\)|\)\))\(\s*(['"`])((?:(?!\1)[^\n])+)\1/gm);
  return [...called].map(([, , title = '']) => title);
}

test('no title begins with a rule id', () => {
  const leading = /['"`](?:[A-Z]\d+ )+[a-z`]/;
  const found = sources.flatMap(({ file, source }) =>
    source.split('\n').flatMap((line) => (leading.test(line) ? [`${file}: ${line.trim()}`] : [])),
  );
  expect(found).toEqual([]);
});

test('the ids that end a title stand apart by spaces, so that the index finds them', () => {
  const found = sources.flatMap(({ file, source }) =>
    titles(source).flatMap((title) => (/\([A-Z]\d+[^)]*,[^)]*\)$/.test(title) ? [`${file}: ${title}`] : [])),
  );
  expect(found).toEqual([]);
});

test('no title is longer than 120 characters', () => {
  const found = sources.flatMap(({ file, source }) =>
    titles(source).flatMap((title) => (title.length > 120 ? [`${file}: ${title}`] : [])),
  );
  expect(found).toEqual([]);
});

test('every test is made with `test`', () => {
  const found = sources.flatMap(({ file, source }) => (/^\s*it(?:\.\w+)*\(/m.test(source) ? [file] : []));
  expect(found).toEqual([]);
});
