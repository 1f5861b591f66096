// Rules of `.gitignore` files, held against git's own answers (T2). SEED and ROUNDS choose others.
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isIgnored, parseIgnoreFile } from '../../../store/snapshots/ignore-rules.ts';
import { measureGrowth, QUADRATIC } from '../../support/growth.ts';
import { random as randomFrom } from '../../support/random.ts';
import { tempFolder } from '../../tools/support.ts';

const SEED = Number(process.env['SEED'] ?? 20_261_128);
const ROUNDS = Number(process.env['ROUNDS'] ?? 150);
const PARTS =
  'a b c * ** ? / / [ab] [!a] [a-c] \\\\* \\\\a . - [[:alpha:]] []a] [^]a] [a-] *** [ ! # [b-a] [[:x:]] [[:constructor:]] [[:__proto__:]] [[:a] **/ /** \\\\ [[:digit:]b] A B \\\\B [A] [A-C] [!A-B] [[:upper:]] [[:lower:]] *.A Ab'
    .replaceAll('\\\\', '\\')
    .split(' ') as [string, ...string[]];
const NAMES = [
  'a',
  'b',
  'c',
  'ab',
  'abc',
  'a b',
  '*',
  'a-b',
  '.a',
  '[',
  'a ',
  ']',
  '-',
  '!a',
  '#a',
  'A',
  'B',
  'Ab',
  'aB',
  'b.a',
  'b.A',
] as const;
const ENDS = ['', '', '/', '  ', '\\ ', '\r'] as const;

/** Git asks for the folders of a path first, and what is in an ignored one is ignored. */
function isPathIgnored(line: string, path: string, ignoresCase: boolean): boolean {
  const stack = [{ prefix: '', rules: parseIgnoreFile(`${line}\n`, ignoresCase) }];
  const parts = path.split('/');
  return parts.some((_, at) => isIgnored(stack, parts.slice(0, at + 1).join('/'), at < parts.length - 1));
}

test.each([false, true])(
  `a path is ignored exactly where git ignores it, ignoreCase %s (seed ${SEED}) (T2)`,
  (ignoresCase) => {
    const root = tempFolder();
    const { pick, nat } = randomFrom(SEED);
    spawnSync('git', ['init', '-q', root]);
    spawnSync('git', ['-C', root, 'config', 'core.ignoreCase', String(ignoresCase)]);
    let ignored = 0;
    for (let round = 0; round < ROUNDS; round += 1) {
      const line = `${Array.from({ length: nat(5) + 1 }, () => pick(PARTS)).join('')}${pick(ENDS)}`;
      const paths = new Set(
        Array.from({ length: 60 }, () => Array.from({ length: nat(3) + 1 }, () => pick(NAMES)).join('/')),
      );
      writeFileSync(join(root, '.gitignore'), `${line}\n`);
      const asked = ['-C', root, 'check-ignore', '--no-index', '-z', '--stdin', '-v', '-n'];
      const fields = spawnSync('git', asked, { input: [...paths].join('\0'), encoding: 'latin1' }).stdout.split('\0');
      for (let at = 0; at + 3 < fields.length; at += 4) {
        const [pattern = '', path = ''] = fields.slice(at + 2, at + 4);
        const isGits = pattern !== '' && !pattern.startsWith('!');
        ignored += Number(isGits);
        expect([line, path, isPathIgnored(line, path, ignoresCase)]).toEqual([line, path, isGits]);
      }
    }
    expect(ignored).toBeGreaterThan(100);
  },
);

test('marks of byte order, comments, line ends and blanks are read as git reads them (T2)', () => {
  const rules = parseIgnoreFile('\xef\xbb\xbfa\r\n# b\n\\#c\nd\\ \n\n/e\nf/g\n!h\n//\ni**/j\n');
  const is = (path: string) => isIgnored([{ prefix: '', rules }], path, false);
  expect(['a', 'x/a', '#c', 'd ', 'e', 'f/g', 'ix/y/j'].map(is)).toEqual(Array.from({ length: 7 }, () => true));
  expect(['# b', 'b', 'd', 'x/e', 'x/f/g', 'h'].map(is)).toEqual([false, false, false, false, false, false]);
});

test('patterns with many stars take no time, whatever they are held against (T2)', () => {
  const long = 'a'.repeat(250);
  const deep = Array.from({ length: 40 }, () => 'a'.repeat(50)).join('/');
  const stars = '*a'.repeat(60);
  const lines = [
    `${stars}*b`,
    `${'**/'.repeat(30)}${stars}*b`,
    `${'**/*a*a/'.repeat(20)}b`,
    `${'a*'.repeat(99)}/b`,
    `a/**\\/${stars}b`,
  ];
  const ask = (path: string) =>
    lines.map((line) => isIgnored([{ prefix: '', rules: parseIgnoreFile(line) }], path, false));
  expect([long, deep, `${deep}/${long}`].map(ask)).toEqual(Array.from({ length: 3 }, () => lines.map(() => false)));
  expect(ask(`${deep}/${long}b`)).toEqual([true, true, false, false, false]);
});

test.each<[string, (n: number) => string]>([
  ['stars behind a long name', (n) => `${'a'.repeat(n / 2)}${'*b'.repeat(n / 4)}`],
  ['brackets that open no class', (n) => `[${'[:'.repeat(n / 2)}x]`],
])('a pattern of n bytes with %s is read in time in proportion to n (T2)', (_, line) => {
  expect(measureGrowth((n) => parseIgnoreFile(line(n)), 20_000)).toBeLessThan(QUADRATIC);
});
