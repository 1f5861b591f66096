import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { groupCalls, LARGEST_BATCH } from '../../../workflows/contract/calls.ts';
import { call } from '../../support/machine.ts';

const plan = (pattern: string): string[] =>
  groupCalls(
    pattern
      .split('')
      .map((kind, index) => call(index, { safe: kind !== 'u', ...(kind === 'd' ? { outcome: {} } : {}) })),
  ).map((batch) => batch.map(({ index }) => index).join('+'));

describe('batches', () => {
  test.each([
    ['sss', ['0+1+2']],
    ['u', ['0']],
    ['ssuss', ['0+1', '2', '3+4']],
    ['uu', ['0', '1']],
    ['dsds', ['1+3']],
    ['ddd', []],
    ['', []],
  ])('%s runs as %j (L35)', (pattern, expected) => {
    expect(plan(pattern)).toEqual(expected);
  });

  test('more safe calls than a server takes at once run a hundred at a time (L35)', () => {
    const calls = Array.from({ length: 2_100 }, (_, index) => call(index));
    const planned = groupCalls(calls);
    expect(planned.flat()).toEqual(calls);
    expect(Math.max(...planned.map((batch) => batch.length))).toBe(LARGEST_BATCH);
  });

  test('every open call is in exactly one batch, in the model order, and no unsafe call has company (L35)', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('s', 'u', 'd')), (pattern) => {
        const calls = pattern.map((kind, index) =>
          call(index, { safe: kind !== 'u', ...(kind === 'd' ? { outcome: {} } : {}) }),
        );
        const planned = groupCalls(calls);
        expect(planned.flat()).toEqual(calls.filter(({ outcome }) => !outcome));
        for (const batch of planned) if (batch.some(({ safe }) => !safe)) expect(batch).toHaveLength(1);
      }),
    );
  });
});
