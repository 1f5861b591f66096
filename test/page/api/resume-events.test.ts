// A stream that breaks at any event, and is taken up by its last id, comes to the same as one that
// never broke.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { WatchedEvent } from '../../../store/live/events.ts';
import { formatPlace, OVER, parsePlace } from '../../../page/api/event-place.ts';
import { eventsWithPlaces, type PlacedEvent } from '../../../page/api/event-stream.ts';
import { cursorAfter, type Followed } from '../../../client/follow/news.ts';
import type { FollowOptions } from '../../../client/follow/follow.ts';
import type { RunOutcome } from '../../../client/sessions/outcome.ts';
import type { MessageId } from '../../../workflows/contract/ids.ts';
import { session } from '../../support/transcript.ts';
import { description } from '../../client/support.ts';
import { runOf } from './staged-run.ts';

/**
 * As the client's follower: the first run from `after` on, or those up to the one that answers a
 * message.
 */
function followerOf(runs: readonly (readonly Followed[])[]) {
  return async function* (_session: string, { after, messageId }: FollowOptions = {}): AsyncGenerator<Followed, void> {
    const cursor = cursorAfter(after ?? 0);
    for (const events of runs.slice(cursor.run)) {
      const isIt =
        messageId === undefined ||
        events.some((one) => one.type === 'run_end' && one.ended.messages.includes(messageId as MessageId));
      for (const event of events) if (event.type !== 'result' || isIt) yield* cursor.pass(event);
      if (isIt) return;
    }
  };
}

/** What stands of it: less what was taken back, and told again. */
function standing(events: readonly Followed[]): readonly Followed[] {
  let shown: Followed[] = [];
  for (const event of events) {
    if (event.type !== 'tombstone') shown.push(event);
    else shown = shown.filter((one) => !('step' in one) || one.step !== event.step || one.attempt !== event.attempt);
  }
  return shown;
}

async function taken(events: AsyncGenerator<PlacedEvent, void>, most: number): Promise<readonly PlacedEvent[]> {
  const all: PlacedEvent[] = [];
  if (most === 0) return all;
  for await (const one of events) if (all.push(one) === most) break;
  return all;
}

/** Broken after so many events, each time; then whole. */
async function broken(runs: readonly (readonly Followed[])[], cuts: readonly number[], messageId?: MessageId) {
  const ports = { follow: followerOf(runs) };
  const seen = description({ phase: 'running', runs: 0, last: null });
  const goal = messageId === undefined ? {} : { messageId };
  const told: Followed[] = [];
  let last: string | null = null;
  for (const cut of [...cuts, Infinity]) {
    if (last === OVER) break;
    const from = last === null ? null : parsePlace(last);
    const events = await taken(eventsWithPlaces(ports, { session, seen, from, goal, options: {} }), cut);
    told.push(...events.map(({ event }) => event));
    last = events.at(-1)?.id ?? last;
  }
  return { told, last };
}

test('what stands is the same wherever and however often a stream was broken: nothing is missed or told twice (Q11)', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(), fc.array(fc.nat({ max: 25 }), { maxLength: 4 }), async (seed, cuts) => {
      const run = runOf(seed, 1);
      const { told, last } = await broken([run], cuts);
      expect(standing(told)).toEqual(standing(run));
      expect(last).toBe(OVER);
    }),
    { numRuns: 400 },
  );
});

test('a stream to the run that answers a message goes on over the runs before it (Q11)', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(), fc.array(fc.nat({ max: 25 }), { maxLength: 4 }), async (seed, cuts) => {
      const runs = [runOf(seed, 1), runOf(seed + 1, 2)];
      const { told } = await broken(runs, cuts, 'm-2' as MessageId);
      const expected = runs.flat().filter((one) => one.type !== 'result' || one.run === 2);
      expect(standing(told)).toEqual(standing(expected));
      expect(told.filter(({ type }) => type === 'result')).toHaveLength(1);
    }),
    { numRuns: 200 },
  );
});

test('a place survives its id, and an id of something else is refused (Q11)', () => {
  const place = { run: 2, iteration: 7, heard: ['5.1', '6.2'], loose: ['4.1'], waiting: ['1.2.0+2', 'a;b,c'] };
  expect(parsePlace(formatPlace(place))).toEqual(place);
  expect(formatPlace({ ...place, heard: [], loose: [], waiting: [] })).toBe('2.7');
  // One that could be read in 4^100 ways takes no time.
  const slow = `1.1;1.1${'1111.1'.repeat(100)}!`;
  for (const wrong of ['', 'x', '0.1', '1', '1.2;x', '1.2;;;%', '-1.2', `1.${'9'.repeat(10)}`, '1.2\n', slow])
    expect(() => parsePlace(wrong)).toThrow('is none that this stream gave');
});

test('a call that was decided while nobody listened is said to be settled, one that still waits is not told again (Q11)', async () => {
  const waiting = { session, tool: 'bash', reason: 'r', inputHash: 'h', head: 'x', index: 0, deadline: 1, input: {} };
  const asked = (call: string) => ({ type: 'approval', call, ...waiting }) as unknown as Followed;
  const outcome = { type: 'result', run: 1 } as RunOutcome;
  const start = runOf(1, 1)[0] as WatchedEvent;
  const ports = { follow: followerOf([[start, asked('1.1.1'), outcome]]) };
  const seen = description({ phase: 'waiting_approval', approvals: [{ call: '1.1.1' }] as never });
  const from = parsePlace('1.0;;;1.1.0,1.1.1');
  const events = await taken(eventsWithPlaces(ports, { session, seen, from, goal: {}, options: {} }), 9);
  expect(events.map(({ event }) => event)).toEqual([
    { type: 'approval_settled', session, call: '1.1.0' },
    start,
    outcome,
  ]);
});
