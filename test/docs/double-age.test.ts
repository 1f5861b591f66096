import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { staleDouble } from './double-age.mjs';

const root = join(import.meta.dirname, '../..');
const page = readFileSync(join(root, 'scripted-model/README.md'), 'utf8');
const tests = join(root, 'test/scripted-model');
const titled = new Set(
  readdirSync(tests).flatMap((file) =>
    [...readFileSync(join(tests, file), 'utf8').matchAll(/\(([^()]+), 20\d\d-\d\d\)['`]/g)].map(
      ([, name = '']) => name,
    ),
  ),
);
const rows = [...page.matchAll(/^\| (.+) \| ([^|]+) \| \d{4}-\d{2}-\d{2} +\|$/gm)];
const pagesOf = (cell: string): readonly string[] => cell.split(';').map((name) => name.replace(/\(.*\)/, '').trim());

test('a list that was compared more than 60 days ago is said to be stale, and a fresh one is not', () => {
  const list = '| x | A | 2026-11-26 |\n| y | B | 2026-09-01 |\n';
  expect(staleDouble(list, Date.parse('2027-01-25'))).toBeUndefined();
  expect(staleDouble(list, Date.parse('2027-01-27'))).toContain('62 days ago (2026-11-26)');
  expect(staleDouble('', 0)).toContain('has no date');
  expect(staleDouble(page, Date.parse('2026-11-27'))).toBeUndefined();
});

test('each row of what the scripted model plays has a test that names its page, and each page has a row', () => {
  expect(rows.length).toBeGreaterThan(15);
  const unproved = rows.filter(([, , cell = '']) => !pagesOf(cell).some((name) => titled.has(name)));
  expect(unproved.map(([row]) => row)).toEqual([]);
  const listed = new Set(rows.flatMap(([, , cell = '']) => pagesOf(cell)));
  expect([...titled].filter((name) => !listed.has(name))).toEqual([]);
});
