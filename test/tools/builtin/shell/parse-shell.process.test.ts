// What the reader calls literal, held against bash itself.
import { spawnSync } from 'node:child_process';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseShell } from '../../../../tools/builtin/shell/parse-shell.ts';
import { tempFolder } from '../../support.ts';

/**
 * Pieces that change what stands beside them; a backslash and a newline may come between any two.
 */
const joined = ['$\\\n', '"$\\\n', '\\\n', '\\', '$', "'", '"', '"', "'", '`', '\\$', "\\'", '\\"', '$$', "$'"];
const others = [
  'HOME',
  '(touch made)',
  '{',
  '}',
  '=',
  '~',
  '#',
  '!',
  '@',
  '-',
  ':',
  '%',
  '2',
  'a',
  'b c',
  ' ',
  ' ',
  '\t',
];
const fragments = fc
  .array(fc.oneof(fc.constantFrom(...joined), fc.constantFrom(...others)), { minLength: 1, maxLength: 7 })
  .map((pieces) => pieces.join(''));

/**
 * The arguments of `printf` as the reader has them, or null when it does not claim to know them to
 * the letter.
 */
function claimed(fragment: string): readonly string[] | null {
  const commands = parseShell(`printf '%s\\0' ${fragment}`);
  const [command] = commands ?? [];
  if (command === undefined || commands?.length !== 1 || command.redirects.length > 0) return null;
  if (!command.words.every(({ literal, glob }) => literal && glob === -1)) return null;
  return command.words.slice(2).map(({ text }) => text);
}

test('what is read as literal is what bash makes of it (L55)', () => {
  const cwd = tempFolder();
  const script = `for fragment; do eval "printf '%s\\0' $fragment"; printf '\\1'; done`;
  let compared = 0;
  const compare = (drawn: readonly string[]): void => {
    const known = drawn
      .map((fragment) => ({ fragment, words: claimed(fragment) }))
      .filter(({ words }) => words !== null);
    compared += known.length;
    const args = ['--norc', '--noprofile', '-c', script, 'bash', ...known.map(({ fragment }) => fragment)];
    const { stdout } = spawnSync('bash', args, { cwd, encoding: 'utf8', timeout: 120_000, env: { HOME: '/h' } });
    const made = stdout.split('\u0001');
    const got = known.map(({ fragment }, at) => ({ fragment, words: made[at]?.split('\0').slice(0, -1) }));
    // Without an argument the format is written once all the same.
    expect(got).toEqual(known.map(({ fragment, words }) => ({ fragment, words: words?.length === 0 ? [''] : words })));
  };
  const drawn = fc.array(fragments, { minLength: 1, maxLength: 500, size: 'max' });
  fc.assert(fc.property(drawn, compare), { numRuns: 12 });
  expect(compared).toBeGreaterThan(200);
});
