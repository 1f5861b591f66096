// CHANGELOG.md is read in lists: an entry is one line.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const LONGEST = 170;
const lines = readFileSync(new URL('../../CHANGELOG.md', import.meta.url), 'utf8').split('\n');
const headings = ['Added', 'Changed', 'Fixed', 'Security', 'Deprecated', 'Removed'];

test(`each entry of the changelog is one line of at most ${LONGEST} characters`, () => {
  const wrong = lines.filter((line) => line !== '' && !line.startsWith('#') && !line.startsWith('- '));
  expect(wrong).toEqual([]);
  expect(lines.filter((line) => line.length > LONGEST)).toEqual([]);
});

test('entries of the changelog are grouped by what they mean for a user', () => {
  const found = lines.filter((line) => line.startsWith('### ')).map((line) => line.slice(4));
  expect(found.filter((heading) => !headings.includes(heading))).toEqual([]);
});
