// docs/decisions/: a page a room, short enough to be read in a sitting.
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const folder = new URL('../../docs/decisions/', import.meta.url);
const pages = readdirSync(folder).filter((name) => name !== 'README.md');
const read = (name: string): string => readFileSync(new URL(name, folder), 'utf8');

test('the index of decisions lists every page', () => {
  const listed = [...read('README.md').matchAll(/\]\((?!\.\.)([\w-]+\.md)\)/g)].map(([, name = '']) => name);
  expect(listed.toSorted()).toEqual(pages.toSorted());
});

test('no page of decisions is longer than 40 lines', () => {
  expect(pages.filter((name) => read(name).trimEnd().split('\n').length > 40)).toEqual([]);
});
