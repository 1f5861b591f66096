// Changes as two texts next to each other.
import { expect, test } from 'vitest';
import { diffRows } from '../../client/render/diff-rows.ts';
import { pairLines } from '../../page/session/files-page.tsx';

const pairs = (before: string, after: string) =>
  pairLines(diffRows(before, after).lines).map((pair) => [pair.before, pair.after]);

test('added lines stand next to the removed ones they replace, and the rest next to nothing (O5)', () => {
  expect(pairs('a\nb\nc\nd\n', 'a\nB\nd\ne\n')).toEqual([
    ['a', 'a'],
    ['b', 'B'],
    ['c', null],
    ['d', 'd'],
    [null, 'e'],
  ]);
  expect(pairs('', 'one\ntwo\n')).toEqual([
    [null, 'one'],
    [null, 'two'],
  ]);
});
