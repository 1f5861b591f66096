// Streams of events whose listener reads nothing.
import { expect, test } from 'vitest';
import { sendFrames } from '../../page/event-frames.ts';
import { until } from '../support/until.ts';

test('a listener that reads no further is sent a little, and is dropped after a while (G42)', async () => {
  let [made, left] = [0, 0];
  const stalling = { left: () => void (left += 1), stalledMs: 50 };
  const { body } = sendFrames(stalling, () => async () => `data: ${(made += 1)}\n\n`);
  const reader = body?.getReader();
  await reader?.read();
  await until(() => left === 1);
  expect(made).toBeLessThanOrEqual(2);
  await expect(reader?.read()).rejects.toThrow('nothing was read');
});

test('a listener that reads is not dropped', async () => {
  let [made, left] = [0, 0];
  const stalling = { left: () => void (left += 1), stalledMs: 600_000 };
  const { body } = sendFrames(stalling, () => async () => `data: ${(made += 1)}\n\n`);
  const reader = body?.getReader();
  for (let n = 0; n < 100; n += 1) expect((await reader?.read())?.done).toBe(false);
  expect(left).toBe(0);
  await reader?.cancel();
  expect(left).toBe(1);
});
