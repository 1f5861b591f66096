// What is done when a signal is aborted.
import { getEventListeners } from 'node:events';
import { expect, test, vi } from 'vitest';
import { actOnAbort } from '../../client/async.ts';
import { gate } from '../../scripted-model/index.ts';

test('acts once, also when the signal was aborted before', async () => {
  const act = vi.fn(() => Promise.resolve());
  const later = new AbortController();
  const ends = [actOnAbort(AbortSignal.abort(), act), actOnAbort(later.signal, act)];
  expect(act).toHaveBeenCalledTimes(1);
  later.abort();
  expect(act).toHaveBeenCalledTimes(2);
  for (const end of ends) await end();
  expect(act).toHaveBeenCalledTimes(2);
});

test('is over when what was begun is, and nothing is left on the signal', async () => {
  const { signal } = new AbortController();
  const [held, act, ended] = [gate(), vi.fn(() => Promise.resolve()), vi.fn()];
  const unused = actOnAbort(signal, act);
  const ending = actOnAbort(AbortSignal.abort(), () => held.hold)().then(ended);
  await unused();
  await actOnAbort(undefined, act)();
  expect(getEventListeners(signal, 'abort')).toEqual([]);
  expect(act).not.toHaveBeenCalled();
  expect(ended).not.toHaveBeenCalled();
  held.release();
  await ending;
});
