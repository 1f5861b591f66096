// Whether an attempt is still the one that counts (L50), by what the server answers to a heartbeat.
import { ActivityCancelledError, ActivityNotFoundError, ActivityPausedError } from '@temporalio/client';
import { expect, test, vi } from 'vitest';
import { createFence } from '../../activities/activity.ts';

const heartbeatTimeoutMs = 30_000;

function fenceOf(answers: readonly (Error | null)[], scheduledAgoMs = 0, signal = new AbortController().signal) {
  const left = [...answers];
  const beat = vi.fn(async () => {
    const answer = left.shift();
    if (answer) throw answer;
  });
  const currentAttemptScheduledTimestampMs = Date.now() - scheduledAgoMs;
  return { beat, ...createFence({ beat, signal, currentAttemptScheduledTimestampMs, heartbeatTimeoutMs }) };
}

test('costs nothing while the server cannot have given the attempt up, and little after', async () => {
  const young = fenceOf([]);
  expect(await young.check()).toBe(true);
  expect(young.beat).not.toHaveBeenCalled();
  const old = fenceOf([null, null], heartbeatTimeoutMs);
  expect([await old.check(), await old.check(), await old.check('now')]).toEqual([true, true, true]);
  expect(old.beat).toHaveBeenCalledTimes(2);
});

test.each([new ActivityNotFoundError('gone'), new ActivityPausedError('paused')])(
  'is lost for good with %s',
  async (error) => {
    const fence = fenceOf([error], heartbeatTimeoutMs);
    expect([await fence.check(), await fence.check(), fence.isLost()]).toEqual([false, false, true]);
    expect(fence.beat).toHaveBeenCalledTimes(1);
  },
);

test('an attempt that is to be cancelled is still ours', async () => {
  expect(await fenceOf([new ActivityCancelledError('stop')], heartbeatTimeoutMs).check()).toBe(true);
});

test('a server that does not answer is asked again, until the attempt ends otherwise', async () => {
  const fence = fenceOf([new Error('unavailable'), null], heartbeatTimeoutMs);
  expect(await fence.check()).toBe(true);
  expect(fence.beat).toHaveBeenCalledTimes(2);
  expect(await fenceOf([new Error('unavailable')], heartbeatTimeoutMs, AbortSignal.abort()).check()).toBe(false);
});
