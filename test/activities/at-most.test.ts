// How often activities beside the loop are tried.
import { expect, test } from 'vitest';
import { limitTries } from '../../activities/guards.ts';
import { type Attempt, forAnotherWorker } from '../../activities/attempt.ts';
import { StoreError } from '../../store/values/store.ts';

type End = Error | 'died' | 'died at once';

/**
 * Attempts one after the other, each with what the last left, as the server gives it: those in
 * which the body began, and the end.
 */
async function tried(ends: readonly End[], remembers = true) {
  const began: number[] = [];
  let remembered: unknown;
  for (let number = 1; ; number++) {
    const end = ends[number - 1];
    let [pending, sent] = [remembered, remembered];
    const remember: Attempt['remember'] = (details, when) => {
      pending = details;
      if (when === 'now') sent = details;
    };
    if (remembered !== undefined) remembered = JSON.parse(JSON.stringify(remembered));
    const body = limitTries(3, async (attempt: Attempt) => {
      began.push(attempt.number);
      if (remembers) attempt.remember([attempt.remembered, number]);
      if (end instanceof Error) throw end;
      return attempt.remembered;
    });
    try {
      const left = await body({ number, remembered, remember } as Attempt, undefined);
      if (end === undefined) return { began, left };
      // A worker that lives for a while sends what is to be remembered with its heartbeats.
      remembered = end === 'died' ? pending : sent;
    } catch (error) {
      if (error !== end) return { began, error };
      remembered = sent;
    }
  }
}

const broken = new Error('broken');

test.each<[string, readonly End[]]>([
  ['fails', [broken, broken, broken]],
  ['dies with its worker', ['died', 'died', 'died']],
  ['does now this, now that', ['died', broken, 'died at once']],
])('what %s each time is begun three times (L42 L56)', async (_what, ends) => {
  for (const remembers of [true, false])
    expect(await tried([...ends, broken], remembers)).toMatchObject({
      began: [1, 2, 3],
      error: { nonRetryable: true },
    });
});

test('what kills its worker before a heartbeat is not begun for ever (L42 L56)', async () => {
  const deaths = Array.from({ length: 9 }, () => 'died at once' as const);
  for (const remembers of [true, false]) expect((await tried(deaths, remembers)).began).toEqual([1, 2, 3, 4]);
});

test.each([
  forAnotherWorker('StopsOnly', 'no'),
  forAnotherWorker('NoRealModel', 'no'),
  new StoreError('newer', 'newer'),
])('an attempt that leaves it to another worker is no try: %s (L56)', async (left) => {
  expect(await tried([left, left, broken, left, left, broken, left])).toEqual({
    began: [1, 2, 3, 4, 5, 6, 7, 8],
    left: expect.arrayContaining([7]),
  });
});
