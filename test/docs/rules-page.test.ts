// docs/rules.md is written by hand: it says every rule once, and no more than the tests know.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { rules } from './rules.ts';

const page = readFileSync(new URL('../../docs/rules.md', import.meta.url), 'utf8');
const said = [...page.matchAll(/^- \*\*(L\d+)\*\* ((?:.+\n)(?: {2}.+\n)*)/gm)].map(([, id = '', text = '']) => ({
  id,
  text,
}));
const sorted = (ids: readonly string[]): readonly string[] =>
  ids.toSorted((a, b) => Number(a.slice(1)) - Number(b.slice(1)));

test('docs/rules.md says each rule of the loop and of its reach once (L1 to L89)', () => {
  const all = Array.from({ length: 89 }, (_, at) => `L${at + 1}`);
  expect(sorted(said.map(({ id }) => id))).toEqual(all);
  expect(rules.map(({ id }) => id)).toEqual(all);
});
