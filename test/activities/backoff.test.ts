// L14: how long is waited before a model call is tried again.
import { expect, it } from 'vitest';
import { backoffMs } from '../../activities/model/classify.ts';
import { defaultBackoff } from '../../activities/configuration.ts';
import { fault, reply } from '../../worker/scripted-model/index.ts';
import { benchDeps } from '../support/bench-deps.ts';

it.each([
  [1, 500, 625],
  [2, 1_000, 1_250],
  [6, 16_000, 20_000],
  [7, 32_000, 40_000],
  [10, 32_000, 40_000],
])('L14 failure %i is followed by %i ms, and by up to a quarter more', (failures, least, most) => {
  expect(backoffMs(defaultBackoff, failures, 0)).toBe(least);
  expect(backoffMs(defaultBackoff, failures, 1)).toBe(most);
});

it.each([
  ['an overload', fault({ status: 529 })],
  ['an empty reply', reply([])],
])('L14 L15 sessions that meet %s together do not come back together', async (_what, failing) => {
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
