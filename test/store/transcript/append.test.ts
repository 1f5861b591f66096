// The appends of a workflow become entries: the same on every attempt, each outcome once, and not
// too large together.
import { expect, test } from 'vitest';
import { type AppendDeps, prepareAppend, MESSAGE_LIMIT, nextSegment } from '../../../store/view/append.ts';
import type { Entry, Outcome } from '../../../store/log/entries.ts';
import { hashOf } from '../../../store/values/store.ts';
import { memoryStore } from '../../support/memory-store.ts';
import type { Append, OutcomeItem } from '../../../workflows/contract/activities.ts';
import type { CallKey, MessageId } from '../../../workflows/contract/ids.ts';
import { callBlock, outcome, outcomes, reply, stored, textBlock, user } from '../../support/transcript.ts';

const key = (index: number): CallKey => `key-${index}` as CallKey;

function recorded(list: Record<string, Outcome>): AppendDeps {
  return { store: memoryStore(), readOutcome: async (name) => list[name] ?? null };
}

const items = (...list: OutcomeItem[]): Append => ({ kind: 'outcomes', items: list });
const outcomesOf = (entries: readonly Entry[]): readonly Outcome[] =>
  entries.flatMap((entry) => (entry.kind === 'outcomes' ? entry.outcomes : []));
const calling = (count: number) =>
  reply([textBlock('I call'), ...Array.from({ length: count }, (_, n) => callBlock(`id-${n + 1}`))]);

test('what is no outcome is stored as it came, in order', async () => {
  const appends: Append[] = [
    { kind: 'run_started', run: 1, config: hashOf(Buffer.from('c')), at: 5 },
    { kind: 'user', id: 'm' as MessageId, body: { kind: 'text', text: 'hi' } },
    { kind: 'transition', iteration: 1, reason: 'next_turn' },
    { kind: 'notice', notice: { kind: 'continue' } },
    { kind: 'session_closed', notTaken: [] },
  ];
  expect(await prepareAppend(await stored(memoryStore()), appends, recorded({}))).toEqual(appends);
});

test('outcomes are stored in the model’s order, recorded ones and notes, each call once (L39)', async () => {
  const store = memoryStore();
  const view = await stored(
    store,
    [user('go')],
    [calling(4), outcomes(outcome(2, 'ran early', { toolUseId: 'id-2' }))],
  );
  const deps = recorded({ 'key-1': outcome(1, 'one'), 'key-2': outcome(2, 'ran again') });
  const appends = [
    items({ index: 4, note: 'not run: budget' }, { index: 1, key: key(1) }, { index: 2, key: key(2) }),
    items({ index: 3, note: 'not run: stopped' }, { index: 1, note: 'twice' }),
  ];
  const entries = await prepareAppend(view, appends, deps);
  const log = { key: null, name: 'read', decision: 'not_run', duration: 0, outcome: 'not_run' };
  expect(entries).toEqual([
    outcomes(outcome(1, 'one', { toolUseId: 'id-1' }), {
      index: 4,
      toolUseId: 'id-4',
      isError: true,
      content: 'not run: budget',
      log,
    } as Outcome),
    outcomes({ index: 3, toolUseId: 'id-3', isError: true, content: 'not run: stopped', log } as Outcome),
  ]);
});

test('an outcome that should be recorded and is not, and one for what is no call, are errors that name it', async () => {
  const view = await stored(memoryStore(), [user('go'), calling(1)]);
  await expect(prepareAppend(view, [items({ index: 1, key: key(1) })], recorded({}))).rejects.toMatchObject({
    problem: 'missing',
    message: expect.stringMatching(
      /session s-1: the outcome of read \(block 1 of the last reply\) is not recorded under key-1/,
    ),
  });
  await expect(prepareAppend(view, [items({ index: 0, note: 'x' })], recorded({}))).rejects.toThrow(
    /block 0 .* is no call/,
  );
});

test('over 200,000 characters a message the largest results become previews until all fit, and are kept whole (L6)', async () => {
  const store = memoryStore();
  const view = await stored(store, [user('go'), calling(5), outcomes(outcome(1, 'e'.repeat(30_000)))]);
  const whole = { hash: hashOf(Buffer.from('w')), bytes: 1 };
  const sizes: Record<string, Outcome> = {
    'key-2': outcome(2, 'b'.repeat(45_000)),
    'key-3': outcome(3, 'c'.repeat(49_000), { whole }),
    'key-4': outcome(4, 'd'.repeat(48_000)),
    'key-5': outcome(5, 'f'.repeat(44_000)),
  };
  const deps = { ...recorded(sizes), store };
  const append = [items(...[2, 3, 4, 5].map((index) => ({ index, key: key(index) })))];
  const made = outcomesOf(await prepareAppend(view, append, deps));
  expect(made.map(({ content }) => content.length > 40_000)).toEqual([true, true, false, true]);
  const replaced = made[2];
  expect(replaced?.content).toContain(`perdure:result/${replaced?.whole?.hash}`);
  expect(Buffer.from(await store.get(replaced?.whole?.hash ?? whole.hash)).toString()).toBe('d'.repeat(48_000));
  expect(30_000 + made.reduce((sum, { content }) => sum + content.length, 0)).toBeLessThanOrEqual(MESSAGE_LIMIT);
});

test.each([200, 500])('%d results together still fit (L6)', async (count) => {
  const view = await stored(memoryStore(), [user('go'), calling(count)]);
  const indices = Array.from({ length: count }, (_, n) => n + 1);
  const deps = recorded(Object.fromEntries(indices.map((index) => [key(index), outcome(index, 'x'.repeat(20_000))])));
  const made = outcomesOf(
    await prepareAppend(view, [items(...indices.map((index) => ({ index, key: key(index) })))], deps),
  );
  expect(made.reduce((sum, { content }) => sum + content.length, 0)).toBeLessThanOrEqual(MESSAGE_LIMIT);
});

test('a second attempt makes the same segment', async () => {
  const view = await stored(memoryStore(), [user('go'), calling(20)]);
  const indices = Array.from({ length: 20 }, (_, n) => n + 1);
  const append = [
    items(...indices.map((index) => (index % 3 ? { index, key: key(index) } : { index, note: 'not run' }))),
  ];
  const attempt = async (order: (list: number[]) => number[]) => {
    const list = order(indices).map((index) => [key(index), outcome(index, `${index} `.repeat(9_000))]);
    return nextSegment(view, await prepareAppend(view, append, recorded(Object.fromEntries(list)))).hash;
  };
  expect(await attempt((list) => list.toReversed())).toBe(await attempt((list) => list));
});

test('images of one reply come into one message as far as they fit, in order; those left out are named (L85)', async () => {
  const store = memoryStore();
  const medium = (n: number) =>
    ({ hash: hashOf(Buffer.from(`${n}`)), bytes: 9, mediaType: 'image/png', characters: 6_400 }) as const;
  const many = (count: number, from: number) => Array.from({ length: count }, (_, n) => medium(from + n));
  const early = outcome(1, 'first', { toolUseId: 'id-1', media: many(15, 0) });
  const view = await stored(store, [user('go')], [calling(3), outcomes(early)]);
  const deps = recorded({
    'key-2': outcome(2, 'six', { media: many(6, 20) }),
    'key-3': outcome(3, 'five', { media: many(5, 40) }),
  });
  const made = outcomesOf(
    await prepareAppend(view, [items({ index: 2, key: key(2) }, { index: 3, key: key(3) })], deps),
  );
  expect(made.map(({ media = [] }) => media.length)).toEqual([0, 5]);
  expect(made[0]?.content).toMatch(/^six\n\(not shown: one message has 20 images/);
});
