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

/** Of the rules after L61 those that are kept. */
const REACH = [
  'L62',
  'L63',
  'L64',
  'L65',
  'L66',
  'L67',
  'L68',
  'L69',
  'L70',
  'L71',
  'L72',
  'L73',
  'L74',
  'L75',
  'L76',
  'L77',
  'L78',
  'L79',
  'L80',
  'L81',
  'L82',
  'L83',
  'L84',
  'L85',
  'L86',
  'L87',
];

test('docs/rules.md says each of the rules L1 to L61, and of those after them that are kept, once', () => {
  const loop = Array.from({ length: 61 }, (_, at) => `L${at + 1}`);
  expect(sorted(said.map(({ id }) => id))).toEqual([...loop, ...REACH]);
  expect(rules.map(({ id }) => id)).toEqual(loop);
});
