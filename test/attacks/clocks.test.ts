// A worker's clock is not the server's: how long something waits does not depend on which of them
// is right.
import { expect, test } from 'vitest';
import { createActivities } from '../../activities/index.ts';
import { reply } from '../../scripted-model/index.ts';
import { harness } from '../support/harness.ts';
import { workerWith } from '../support/own-activities.ts';
import { until } from '../support/until.ts';

const DAY = 24 * 3_600_000;
const HOUR = 3_600_000;

test.each([
  ['a day ahead', DAY],
  ['a day behind', -DAY],
])('a worker whose clock is %s parks a run for as long as the provider asked (L14)', async (_, skew) => {
  const h = await harness({ script: [{ fault: { status: 429, retryAfter: HOUR / 1_000 } }, reply('Done.')] });
  const { stop } = await workerWith(h, (deps) => createActivities({ ...deps, now: () => Date.now() + skew }));
  const before = Date.now();
  const session = await h.open('Go.');
  const parked = await until(async () => (await session.memo())?.parkedUntil);
  expect(parked).toBeGreaterThan(before + HOUR / 2);
  expect(parked).toBeLessThan(Date.now() + 2 * HOUR);
  expect(h.bodies()).toHaveLength(1);
  await session.resume();
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  await stop();
});
