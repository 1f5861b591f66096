// Yields the events of a stream, each with the place of a listener that has seen it. A returning
// listener continues from its place.
import type { MessageId, SessionId } from '../../workflows/contract/ids.ts';
import type { WatchedEvent, Followed, FollowOptions, SessionDescription } from '../../client/index.ts';
import { isTombstone, tombstoneOf } from '../../store/live/events.ts';
import { goalOf } from '../../client/follow/goal.ts';
import { isApprovalEvent } from '../../client/sessions/waiting-approval.ts';
import { attemptName } from '../../client/view/reduce-live.ts';
import type { PagePorts } from '../ports.ts';
import { type EventPlace, formatPlace, OVER, placeAt, PlaceTracker } from './event-place.ts';

export type Listening = {
  readonly session: SessionId;
  /** The session as it was when the listener connected. */
  readonly seen: SessionDescription;
  /** The place from which a listener that was here before resumes; null for a new one. */
  readonly from: EventPlace | null;
  /** The run to follow, as in FollowOptions. */
  readonly goal: Pick<FollowOptions, 'after'> & { readonly messageId?: MessageId };
  readonly options: Pick<FollowOptions, 'signal' | 'onTrouble'>;
};

export type PlacedEvent = { readonly id: string; readonly event: Followed };

type Ports = Pick<PagePorts, 'follow'>;

export async function* eventsWithPlaces(ports: Ports, listening: Listening): AsyncGenerator<PlacedEvent, void> {
  const placing = new PlaceTracker(listening.from ?? firstPlace(listening));
  const events = listening.from === null ? newEvents(ports, listening) : continueEvents(ports, listening, placing);
  for await (const event of events) {
    // An attempt without sent events has nothing to take back.
    if (isTombstone(event) && !placing.knows(attemptName(event))) continue;
    placing.hear(event);
    yield { id: event.type === 'result' ? OVER : formatPlace(placing.place), event };
  }
}

function newEvents(ports: Ports, { session, goal, options }: Listening): AsyncIterable<Followed> {
  return ports.follow(session, { ...goal, ...options });
}

function firstPlace({ seen: description, goal: { messageId, after } }: Listening): EventPlace {
  if (after === undefined) return placeAt(goalOf(description, messageId ?? null).from, 0);
  return typeof after === 'number' ? placeAt(after + 1, 0) : placeAt(after.run, after.iteration);
}

async function* continueEvents(
  ports: Ports,
  listening: Listening,
  placing: PlaceTracker,
): AsyncGenerator<Followed, void> {
  const { session, seen: description, goal, options } = listening;
  const from = placing.place;
  yield* tombstonesFor(from);
  const stillWaiting = new Set(description.approvals?.map(({ call }) => call));
  for (const call of from.waiting) if (!stillWaiting.has(call)) yield { type: 'approval_settled', session, call };
  const isNew = isNewAfter(from);
  let after: FollowOptions['after'] = { run: from.run, iteration: from.iteration };
  for (;;) {
    let runEnd: Extract<WatchedEvent, { type: 'run_end' }>['ended'] | null = null;
    let result: Extract<Followed, { type: 'result' }> | null = null;
    for await (const event of ports.follow(session, { after, ...options })) {
      if (event.type === 'run_end') runEnd = event.ended;
      if (event.type === 'result') result = event;
      else if (isNew(event)) yield event;
    }
    if (options.signal?.aborted) return;
    const { messageId } = goal;
    const isIt = messageId === undefined || runEnd?.messages.includes(messageId);
    if (result !== null && isIt) return yield result;
    if (result === null) break;
    // A later run answers the message.
    after = result.run;
  }
  if (goal.messageId === undefined) return;
  for await (const event of newEvents(ports, listening)) if (event.type === 'result') yield event;
}

/** Takes back what was heard of the iteration that is told again. */
function* tombstonesFor({ heard: attempts, iteration }: EventPlace): Iterable<Followed> {
  for (const place of attempts) {
    const [step = 0, attempt = 0] = place.split('.').map(Number);
    const why = `told again from the beginning of iteration ${iteration + 1}`;
    yield tombstoneOf({ step, attempt }, { why, retold: true });
  }
}

/** Returns a predicate that is false for events a listener at this place already knows. */
function isNewAfter({ iteration, heard: attempts, loose, waiting }: EventPlace): (event: Followed) => boolean {
  const [known, requested] = [new Set(loose.filter((one) => !attempts.includes(one))), new Set(waiting)];
  return (event) => {
    if (isApprovalEvent(event))
      return event.type !== 'approval' && event.type !== 'question' ? true : !requested.delete(event.call);
    if (event.type === 'result' || isTombstone(event)) return true;
    if ('iteration' in event && event.iteration > iteration) known.clear();
    return !known.has(attemptName(event));
  };
}
