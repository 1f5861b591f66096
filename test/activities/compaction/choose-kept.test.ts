// L10, L59: what a compaction keeps as it is.
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { chooseKept } from '../../../activities/compaction/choose-kept.ts';
import type { Entry } from '../../../store/log/entries.ts';
import { hasCalls, hasThinking } from '../../../store/transcript/marks.ts';
import {
  boundary,
  callBlock,
  collapsed,
  outcome,
  outcomes,
  reply,
  runEnded,
  runStarted,
  textBlock,
  thinkingBlock,
  user,
} from '../../support/transcript.ts';

const kept = (entries: readonly Entry[], window = 1_000, trigger: 'auto' | 'reactive' = 'auto') =>
  chooseKept(entries, new Map(), { characters: window * 4, trigger });
const call = (size: number, thinks = false): Entry[] => [
  reply([...(thinks ? [thinkingBlock('hm')] : []), textBlock('So.'), callBlock('c')]),
  outcomes(outcome(thinks ? 2 : 1, 'x'.repeat(size))),
];
const done = (thinks = false): Entry => reply([...(thinks ? [thinkingBlock('hm')] : []), textBlock('Done.')]);

test('an open trajectory with signed thinking that fits stays whole, however many rounds it has (L59)', () => {
  const entries = [
    runStarted(1),
    user('Old.'),
    ...call(2_000),
    done(),
    runEnded(1),
    runStarted(2),
    user('New.'),
    ...call(300, true),
    ...call(300),
    ...call(300),
  ];
  expect(kept(entries)).toMatchObject({ from: 8, prompts: [7] });
});

test('one that does not fit is summarised whole, its last round too; the prompt stays (L59)', () => {
  const entries = [runStarted(1), user('Go.'), ...call(900, true), ...call(900), ...call(100)];
  expect(kept(entries)).toMatchObject({ from: entries.length, prompts: [1] });
});

test('without thinking the newest rounds that fit stay, and a round is never split (L10)', () => {
  const entries = [runStarted(1), user('Go.'), ...call(900), ...call(300), ...call(100)];
  expect(kept(entries)).toMatchObject({ from: 4, prompts: [1] });
});

test('a newest round larger than the share of recent messages stays while two fifths of the window hold it (L10)', () => {
  expect(kept([runStarted(1), user('Go.'), ...call(100), ...call(1_300)])).toMatchObject({ from: 4 });
  expect(kept([runStarted(1), user('Go.'), ...call(100), ...call(1_700)])).toMatchObject({ from: 6 });
});

test('a message that has no answer yet stays, whatever its size (L10)', () => {
  const entries = [
    runStarted(1),
    user('Old.'),
    ...call(100),
    done(),
    runEnded(1),
    runStarted(2),
    user('x'.repeat(9_000)),
  ];
  expect(kept(entries)?.from).toBeLessThanOrEqual(7);
});

test('of very long prompts the first stays, and of the others the newest that fit a quarter of the window (L10)', () => {
  const entries = [
    runStarted(1),
    user('a'.repeat(300)),
    ...call(50),
    user('b'.repeat(600)),
    ...call(50),
    user('c'.repeat(600)),
    ...call(1_300),
  ];
  expect(kept(entries)).toMatchObject({ from: 8, prompts: [1, 7] });
});

test('a stretch that is shown short is kept short, or summarised, never cut (L9 L10)', () => {
  const entries = [runStarted(1), user('Go.'), ...call(900), ...call(900), ...collapsed(2, 4, 'Short.'), ...call(100)];
  expect(kept(entries, 10_000)).toBeNull();
  expect(kept(entries)).toMatchObject({ from: 8 });
});

test('with the summary of a former compaction alone there is nothing to summarise (L10)', () => {
  const entries = [runStarted(1), user('Go.'), ...call(900), boundary('Before.', 4, [1]), ...call(100)];
  expect(kept(entries)).toBeNull();
});

const arbitrary = fc.array(
  fc.oneof(
    fc.tuple(fc.nat(1_500), fc.boolean()).map(([size, thinks]) => call(size, thinks)),
    fc.boolean().map((thinks) => [done(thinks)]),
    fc.constant([user('Something.')]),
    fc.constant([runEnded(1), runStarted(2), user('Next.')]),
  ),
  { maxLength: 20 },
);

test('no compaction cuts a trajectory with signed thinking, and none parts a reply from its outcomes (L59)', () => {
  fc.assert(
    fc.property(arbitrary, fc.constantFrom('auto' as const, 'reactive' as const), (parts, trigger) => {
      const entries = [runStarted(1), user('Go.'), ...parts.flat()];
      const from = kept(entries, 1_000, trigger)?.from;
      if (from === undefined) return;
      expect(entries[from]?.kind).not.toBe('outcomes');
      const [before, after] = [trajectory(entries.slice(0, from).toReversed()), trajectory(entries.slice(from))];
      const last = before[0];
      if (!last || !hasCalls(last) || after.length === 0) return;
      expect([...untilFinal(before), ...after].some(hasThinking)).toBe(false);
    }),
    { numRuns: 500 },
  );
});

type Reply = Extract<Entry, { kind: 'reply' }>;

/** Replies up to the first final one or the end of the run. */
function trajectory(entries: readonly Entry[]): Reply[] {
  const end = entries.findIndex(({ kind }) => kind === 'run_started');
  const replies = entries.slice(0, end < 0 ? undefined : end).filter((entry) => entry.kind === 'reply');
  const final = replies.findIndex((each) => !hasCalls(each));
  return final < 0 ? replies : replies.slice(0, final + 1);
}

/** Of replies newest first: those that made calls, up to the final one of the trajectory before. */
function untilFinal(replies: readonly Reply[]): readonly Reply[] {
  return replies.filter(hasCalls);
}
