// A provider says how long to wait, and the worker dies right after it has told so: the wait is
// kept all the same.
import { expect, test } from 'vitest';
import { fault, reply } from '../../scripted-model/index.ts';
import { benchDeps, fakeAttempt } from '../support/bench-deps.ts';
import { crashHarness } from '../support/crash-harness.ts';
import { thrown } from '../support/thrown.ts';
import { until } from '../support/until.ts';

const SECONDS = 4;

test('the next attempt waits for what is left of it, counts the failure, and asks nobody before (L14)', async () => {
  const bench = await benchDeps({ script: [fault({ status: 429, retryAfter: 50 }), reply('Done.')] });
  await thrown(bench.call(fakeAttempt(1)));
  // Killed before its heartbeat: nothing is remembered.
  const next = fakeAttempt(2);
  const { nextRetryDelay } = await thrown(bench.call(next));
  expect(nextRetryDelay).toBeGreaterThan(1_000);
  expect(nextRetryDelay).toBeLessThanOrEqual(50_000);
  expect(next.left).toMatchObject({ failures: 1 });
  expect(bench.model.requests).toHaveLength(1);
});

test('a worker that is killed when it has announced a wait leaves it to the next one (L14)', async () => {
  const h = await crashHarness({ script: [fault({ status: 429, retryAfter: SECONDS }), reply('Done.')] });
  const first = await h.worker();
  const session = await h.open('Go.');
  await until(() => h.liveText(session.id).includes('"type":"retry"'));
  await first.kill();
  const second = await h.worker();
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  const [asked, again] = h.model.requests.map(({ at }) => at);
  expect((again ?? 0) - (asked ?? 0)).toBeGreaterThanOrEqual(SECONDS * 1_000);
  await second.kill();
});
