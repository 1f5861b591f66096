// Timelines of transcripts that are stored: what is kept is extended, whoever reads, and what a step
// under way has stored or stores first is shown with it.
import { expect, test } from 'vitest';
import { Timelines } from '../../managed/events/timelines.ts';
import type { NewestStep } from '../../client/faces/types.ts';
import type { Entry, Store } from '../../client/index.ts';
import type { View } from '../../store/view/view.ts';
import { memoryStore } from '../support/memory-store.ts';
import {
  appendSegment,
  callBlock,
  outcome,
  outcomes,
  reply,
  runEnded,
  runStarted,
  session,
  stored,
  textBlock,
  user,
} from '../support/transcript.ts';

const segments: readonly (readonly Entry[])[] = [
  [runStarted(1), user('one'), reply([callBlock('c')])],
  [outcomes(outcome(0, 'done')), reply([textBlock('first')], { iteration: 2 })],
  [runEnded(1)],
  [runStarted(2), user('two'), reply([textBlock('second')])],
  [runEnded(2)],
];

async function viewsOf(store: Store): Promise<readonly View[]> {
  const views: View[] = [];
  for (const entries of segments)
    views.push(await appendSegment(store, views.at(-1) ?? (await stored(store)), entries));
  return views;
}

const timelinesOf = (store: Store, step: NewestStep = { head: null }) =>
  new Timelines({ store, newestStep: () => Promise.resolve(step) });

const typesOf = ({ facts }: { readonly facts: readonly { readonly type: string }[] }) => facts.map(({ type }) => type);

test('readers of several heads at once leave the longest, and each gets all events up to its head (G31)', async () => {
  const store = memoryStore();
  const views = await viewsOf(store);
  const whole = await timelinesOf(store).upTo(session, views.at(-1)!.head);
  for (const order of [
    [4, 0, 3, 1, 2],
    [0, 1, 2, 3, 4],
    [2, 4, 1],
    [3, 3, 0],
  ]) {
    const timelines = timelinesOf(store);
    const read = await Promise.all(order.map((at) => timelines.upTo(session, views[at]!.head)));
    for (const { facts } of read)
      expect(whole.facts.slice(0, facts.length).map(({ id }) => id)).toEqual(facts.map(({ id }) => id));
    const last = await timelines.upTo(session, views.at(-1)!.head);
    expect(await timelines.write(last.facts)).toEqual(await timelines.write(whole.facts));
  }
});

test('a rewound transcript is projected anew, and shows the conversation as it is now', async () => {
  const store = memoryStore();
  const [first, second] = await viewsOf(store);
  const rewound: Entry = {
    kind: 'steered',
    steered: { action: 'rewind', at: 1, rewound: { from: second!.head!, to: first!.head } },
  };
  const other = await appendSegment(store, first!, [
    rewound,
    user('other'),
    reply([textBlock('other')], { iteration: 3 }),
  ]);
  const timelines = timelinesOf(store);
  const before = await timelines.upTo(session, second!.head);
  const after = await timelines.upTo(session, other.head);
  const known = new Set(before.facts.map(({ id }) => id));
  expect(typesOf(after)).toContain('agent.message');
  expect(after.facts.filter(({ id }) => known.has(id)).length).toBe(
    (await timelinesOf(store).upTo(session, first!.head)).facts.length,
  );
  expect(new Set(after.facts.map(({ id }) => id)).size).toBe(after.facts.length);
});

test('what a step stores first is shown before it is stored, as it will be (G32)', async () => {
  const store = memoryStore();
  const views = await viewsOf(store);
  const append = [runStarted(2), user('two'), { kind: 'prepared_boundary', boundary: 'b' }];
  const step = { head: views[2]!.head, input: { head: views[2]!.head, append, step: 9 } };
  const pending = await timelinesOf(store, step).newest(session);
  const later = await timelinesOf(store).upTo(session, views[3]!.head);
  expect(pending.step).toBe(9);
  expect(typesOf(pending).slice(-2)).toEqual(['user.message', 'session.status_running']);
  const count = pending.facts.length;
  const timelines = timelinesOf(store);
  expect(await timelines.write(pending.facts)).toEqual(await timelines.write(later.facts.slice(0, count)));
});
