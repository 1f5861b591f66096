// What a step came to, found again: by another attempt, by its own repeated write, and after a
// reset.
import { expect, test } from 'vitest';
import { isForgotten, rememberHeads, openStepRecord } from '../../activities/step-record.ts';
import { memoryStore } from '../support/memory-store.ts';
import type { Store } from '../../store/values/store.ts';
import type { Hash } from '../../workflows/contract/ids.ts';
import { fakeAttempt } from '../support/bench-deps.ts';

type Result = { readonly kind: string; readonly head?: string; readonly n?: number };

const failed = { kind: 'failed' };
const message = { kind: 'message', head: 'h' };

const steps = (store: Store = memoryStore()) => ({
  of: (run: string) => openStepRecord<Result>(store, { ...fakeAttempt(), run }, 'chain', ['a request']),
});

test('of two attempts the first counts, and both get its result (L16)', async () => {
  const { of } = steps();
  expect(await of('r1').record(message)).toEqual({ result: message, first: true });
  expect(await of('r1').record({ ...message, n: 2 })).toEqual({ result: message, first: false });
  expect(await of('r1').read()).toEqual(message);
});

test('a write that took effect while its answer was lost, and is repeated by the store, is its own (L16)', async () => {
  const store = memoryStore();
  const twice: Store = {
    ...store,
    writeStep: async (step) => (await store.writeStep(step), store.writeStep(step)),
  };
  expect(await steps(twice).of('r1').record(message)).toEqual({ result: message, first: true });
});

test('after a reset a reply that was stored is found, and a failure is not (L14)', async () => {
  const { of } = steps();
  await of('r1').record(failed);
  expect(await of('r1').read()).toEqual(failed);
  expect(await of('r2').read()).toBeNull();
  expect(await of('r2').record(message)).toEqual({ result: message, first: true });
  expect(await of('r3').read()).toEqual(message);
  // An attempt of before the reset, which is still alive somewhere, has its own end and stores
  // nothing beside it.
  expect(await of('r1').record({ ...message, n: 1 })).toEqual({ result: failed, first: false });
});

test('an attempt that nobody stops passes over the stop that its server has lost (L47)', async () => {
  const { of } = steps();
  const attempt = fakeAttempt();
  await of('r1').record({ kind: 'nothing' });
  expect(await of('r1').read(isForgotten(attempt))).toBeNull();
  attempt.abort('stop');
  expect(await of('r1').read(isForgotten(attempt))).toEqual({ kind: 'nothing' });
});

test('only the first step after a head that this worker wrote, in the same run, is not looked for (W2)', () => {
  const heads = rememberHeads();
  const attempt = fakeAttempt();
  const [one, two] = ['1', '2'].map((digit) => digit.repeat(64) as Hash);
  expect(heads.isNew(attempt, null)).toBe(false);
  heads.wrote(attempt, { kind: 'message', head: one });
  expect(heads.isNew({ ...attempt, run: 'after a reset' }, one ?? null)).toBe(false);
  heads.wrote(attempt, { kind: 'message', head: one });
  expect(heads.isNew({ ...attempt, number: 2 }, one ?? null)).toBe(false);
  heads.wrote(attempt, { kind: 'message', head: one });
  expect(heads.isNew(attempt, two ?? null)).toBe(false);
  heads.wrote(attempt, { kind: 'message', head: one });
  expect(heads.isNew(attempt, one ?? null)).toBe(true);
  expect(heads.isNew(attempt, one ?? null)).toBe(false);
  heads.wrote(attempt, { kind: 'nothing' });
  expect(heads.isNew(attempt, one ?? null)).toBe(false);
});

test('a record says what its own attempt has recorded, and nothing of what another did (W2)', async () => {
  const { of } = steps();
  const [first, second] = [of('r1'), of('r1')];
  await first.record(message);
  await second.record({ ...message, n: 2 });
  expect([first.own(), second.own()]).toEqual([message, null]);
});
