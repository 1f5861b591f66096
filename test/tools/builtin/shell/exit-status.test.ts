import { expect, test } from 'vitest';
import { isAnswerStatus } from '../../../../tools/builtin/shell/output.ts';

test.each([
  ['grep x a', 1, true],
  ['grep x a', 2, false],
  ['ls | grep x', 1, true],
  ['cd src && grep x a', 1, true],
  ['make; grep x a', 1, true],
  ['make && grep x a', 1, false],
  ['make || true && grep x a', 1, true],
  ['make | cat && rg x', 1, false],
  ['echo a | make && rg x', 1, false],
  ['grep "$X" a', 1, true],
  ['rg x 2>&1', 1, true],
  ['diff a b', 1, true],
  ['diff a b > out', 1, true],
  ['[ -f x ]', 1, true],
  ['test -f x && test -f y', 1, true],
  ['grep x a | make', 1, false],
  ['grep x a; make', 1, false],
  ['make', 1, false],
  ['grep $(make) a', 1, false],
  ['if grep x a; then exit 1; fi', 1, false],
  ['(exit 1); grep x', 1, false],
  ['make', 0, true],
])('of %j, status %i is an answer: %s (L36)', (command, status, expected) => {
  expect(isAnswerStatus(command, status)).toBe(expected);
});
