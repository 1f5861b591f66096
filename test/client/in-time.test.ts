// What has a while to arrive.
import { expect, test } from 'vitest';
import { awaitArrival } from '../../client/async.ts';
import { awaitInTime } from '../../system/async.ts';

/** No test waits for it. */
const LONG_MS = 600_000;

const never = new Promise<string>(() => undefined);

test('is what arrives, or what is said of it when it is late or someone is in a hurry', async () => {
  expect(await awaitInTime(Promise.resolve('arrived'), 'late', LONG_MS)).toBe('arrived');
  expect(await awaitInTime(never, 'late', 1)).toBe('late');
  expect(await awaitInTime(never, 'late', LONG_MS, AbortSignal.abort())).toBe('late');
  const arrived = Promise.all([Promise.resolve(1), Promise.resolve(2)]).then(() => 'arrived');
  expect(await awaitInTime(arrived, 'late', LONG_MS, AbortSignal.abort())).toBe('arrived');
  await expect(awaitInTime(Promise.reject(new Error('failed')), 'late', LONG_MS)).rejects.toThrow('failed');
});

test('says what may not have arrived, and why', async () => {
  expect(await awaitArrival('the interrupt', Promise.resolve())).toBeNull();
  const failed = Promise.reject(new Error('the server is away'));
  expect(await awaitArrival('the interrupt', failed)).toBe('the interrupt may not have arrived: the server is away');
});
