// What has a while to arrive.
import { expect, it } from 'vitest';
import { arrival, inTime } from '../../client/async.ts';

const never = new Promise<string>(() => undefined);

it('is what arrives, or what is said of it when it is late or someone is in a hurry', async () => {
  expect(await inTime(Promise.resolve('arrived'), 'late')).toBe('arrived');
  expect(await inTime(never, 'late', undefined, 1)).toBe('late');
  expect(await inTime(never, 'late', AbortSignal.abort())).toBe('late');
  const arrived = Promise.all([Promise.resolve(1), Promise.resolve(2)]).then(() => 'arrived');
  expect(await inTime(arrived, 'late', AbortSignal.abort())).toBe('arrived');
  await expect(inTime(Promise.reject(new Error('failed')), 'late')).rejects.toThrow('failed');
});

it('says what may not have arrived, and why', async () => {
  expect(await arrival('the interrupt', Promise.resolve())).toBeNull();
  const failed = Promise.reject(new Error('the server is away'));
  expect(await arrival('the interrupt', failed)).toBe('the interrupt may not have arrived: the server is away');
});
