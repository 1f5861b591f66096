import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createGlobMatcher, expandBraces } from '../../../../tools/builtin/search/glob-match.ts';

test.each([
  ['*.ts', 'a.ts', true],
  ['*.ts', 'src/a.ts', false],
  ['**/*.ts', 'a.ts', true],
  ['**/*.ts', 'src/deep/a.ts', true],
  ['src/**', 'src/a/b', true],
  ['src/**', 'src', true],
  ['src/**/a.ts', 'src/a.ts', true],
  ['a/**/b/**/c', 'a/x/b/y/b/c', true],
  ['a/**/b/**/c', 'a/x/y/c', false],
  ['?.ts', 'ab.ts', false],
  ['?.ts', '😀.ts', true],
  ['[ab].ts', 'b.ts', true],
  ['[!ab].ts', 'b.ts', false],
  ['[^a-c].ts', 'd.ts', true],
  ['[]x]', ']', true],
  ['[a', '[a', true],
  ['*.{ts,js}', 'a.js', true],
  ['{src,test}/**/*.{ts,tsx}', 'test/x/a.tsx', true],
  ['{a,{b,c}}d', 'cd', true],
  ['{a}', '{a}', true],
  ['\\*', '*', true],
  ['\\*', 'a', false],
  ['\\{a,b\\}', '{a,b}', true],
  ['*', '.hidden', false],
  ['.*', '.hidden', true],
  ['**/*', '.git/config', false],
  ['**/.git/*', 'sub/.git/config', true],
  ['[.]x', '.x', false],
  ['a**b', 'axxb', true],
  ['', '', true],
])('%j on %j: %s', (pattern, path, expected) => {
  expect(createGlobMatcher(pattern)(path)).toBe(expected);
});

test('a pattern made to hang a backtracking matcher takes no time', () => {
  const path = `${'a'.repeat(255)}/`.repeat(15) + 'a'.repeat(255);
  const before = process.cpuUsage();
  expect(createGlobMatcher(`${'*a'.repeat(100)}*b`)(path)).toBe(false);
  expect(createGlobMatcher(`${'**/*a*/'.repeat(30)}b`)(path)).toBe(false);
  // Seconds of processor time; a matcher that backtracks takes years.
  expect(process.cpuUsage(before).user / 1e6).toBeLessThan(5);
});

test('too many alternatives are refused in a sentence', () => {
  expect(() => createGlobMatcher('{a,b}'.repeat(20))).toThrow('more than 256 alternatives');
  expect(expandBraces('{a,b}{c,d}').toSorted()).toEqual(['ac', 'ad', 'bc', 'bd']);
});

test('stars within a name match as the regular expression they stand for', () => {
  const name = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 10 });
  const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '*', '?'), maxLength: 8 });
  fc.assert(
    fc.property(name, pattern, (text, glob) => {
      fc.pre(glob !== '**');
      const regular = new RegExp(`^${glob.replaceAll('*', '.*').replaceAll('?', '.')}$`);
      expect(createGlobMatcher(glob)(text)).toBe(regular.test(text));
    }),
    { numRuns: 1_000 },
  );
});

test('** matches folders as the regular expression it stands for', () => {
  const segments = (unit: readonly string[]) => fc.array(fc.constantFrom(...unit), { minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(segments(['a', 'b', '.h']), segments(['a', 'b', '.h', '**', '*']), (names, parts) => {
      const regular = parts.map(
        (part) => ({ '**': '(?:[ab]/)*', '*': '[ab]/' })[part] ?? `${part.replace('.', '\\.')}/`,
      );
      expect(createGlobMatcher(parts.join('/'))(names.join('/'))).toBe(
        new RegExp(`^${regular.join('')}$`).test(`${names.join('/')}/`),
      );
    }),
    { numRuns: 2_000 },
  );
});
