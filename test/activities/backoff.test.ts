// L14: how long is waited before a model call is tried again.
import { expect, test } from 'vitest';
import { backoffMs } from '../../activities/model/classify.ts';
import { defaultBackoff } from '../../store/configuration.ts';
import { fault, reply } from '../../scripted-model/index.ts';
import { benchDeps } from '../support/bench-deps.ts';

test.each([
  [1, 500, 625],
  [2, 1_000, 1_250],
  [6, 16_000, 20_000],
  [7, 32_000, 40_000],
  [10, 32_000, 40_000],
])('failure %i is followed by %i ms, and by up to a quarter more (L14)', (failures, least, most) => {
  expect(backoffMs(defaultBackoff, failures, 0)).toBe(least);
  expect(backoffMs(defaultBackoff, failures, 1)).toBe(most);
});

test.each([
  ['an overload', fault({ status: 529 })],
  ['an empty reply', reply([])],
])('sessions that meet %s together do not come back together (L14 L15)', async (_what, failing) => {
  const delays = await Promise.all(
    [0, 0.5].map(async (random) => {
      const { deps, call, lines } = await benchDeps({ script: [failing] });
      Object.assign(deps, { random: () => random });
      await expect(call()).rejects.toThrow();
      return lines.flatMap((line) => (line.type === 'retry' ? [line.delayMs] : []));
    }),
  );
  expect(delays).toEqual([[100], [113]]);
});
