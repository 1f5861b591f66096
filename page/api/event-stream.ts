// Sends events as server-sent events, one JSON object each, with the listener's new place as their
// id.
import type {
  MessageId,
  SessionId,
  Followed,
  SeenIteration,
  SessionDescription,
  WatchedEvent,
  FollowOptions,
} from '../../client/faces/types.ts';
import { goalAfter, hasNoRun, goalOf, isApprovalEvent } from '../../client/faces/sessions.ts';
import { ClientProblem } from '../../client/faces/start.ts';
import { isTombstone, tombstoneOf } from '../../client/faces/words.ts';
import { jsonLine } from '../../system/text.ts';
import { BEAT, KEEPALIVE_MS, type NextText, sendFrames } from '../event-frames.ts';
import type { PagePorts } from '../ports.ts';
import { OVER, parsePlace, type EventPlace, formatPlace, placeAt, PlaceTracker } from './event-place.ts';
import { HttpProblem, problemOf } from './problems.ts';
import { attemptName } from '../../client/view/reduce-live.ts';

/**
 * Milliseconds after which a listener that reads nothing is dropped. It may resume at its place.
 */
const STALLED_MS = 60_000;

export type StreamRequest = {
  readonly session: SessionId;
  readonly message: string | undefined;
  /** RUN or RUN.ITERATION. */
  readonly after: string | undefined;
  /** The header Last-Event-ID. */
  readonly last: string | undefined;
  /** Aborts when the server closes. */
  readonly closing: AbortSignal;
  /** Called when the listener has gone, or got no stream. */
  readonly left: () => void;
};

type Ports = Pick<PagePorts, 'describe' | 'follow' | 'recent' | 'transcript'>;

/**
 * Returns null when nothing is to come. Throws ClientProblem, and HttpProblem for a message that
 * was never sent.
 */
export async function openEventStream(ports: Ports, request: StreamRequest): Promise<Response | null> {
  let stream: Response | null = null;
  try {
    stream = await streamOf(ports, request);
    return stream;
  } finally {
    if (stream === null) request.left();
  }
}

async function streamOf(
  ports: Ports,
  { session, message, after: place, last, closing, left }: StreamRequest,
): Promise<Response | null> {
  const after = place === undefined ? undefined : readAfter(place);
  if (message !== undefined && after !== undefined)
    throw new ClientProblem('refused', '`message` and `after` each say what is followed: give one of them');
  const from = last === undefined || last === OVER ? null : parsePlace(last);
  const description = await ports.describe(session);
  if (last === OVER || (after !== undefined && hasNoRun(goalAfter(runBefore(after)), description))) return null;
  if (message !== undefined && from === null && !(await wasSent(ports, description, message)))
    throw new HttpProblem('no_message', `session ${session} was never sent message ${quoteId(message)}: send it first`);
  const goal = {
    ...(message !== undefined && { messageId: message as MessageId }),
    ...(after !== undefined && { after }),
  };
  return sendFrames({ left, closing, stalledMs: STALLED_MS }, (signal) =>
    nextText((onTrouble) =>
      eventsWithPlaces(ports, { session, seen: description, from, goal, options: { signal, onTrouble } }),
    ),
  );
}

const quoteId = (id: string): string => JSON.stringify(id.length > 100 ? `${id.slice(0, 100)}…` : id);

/**
 * Tells whether a run has taken the message or it is on its way to one. Reads the transcript last,
 * since it may be long.
 */
async function wasSent(ports: Ports, { session, last }: SessionDescription, message: string): Promise<boolean> {
  if (last?.messages.some((id) => id === message)) return true;
  const { messages, before } = await ports.recent(session);
  if (before.includes(message) || messages.some(({ id }) => id === message)) return true;
  for await (const { entry } of ports.transcript(session))
    if (entry.kind === 'user' && entry.id === message) return true;
  return false;
}

const runBefore = (after: number | SeenIteration): number => (typeof after === 'number' ? after : after.run - 1);

function readAfter(text: string): number | SeenIteration {
  const [run = 0, iteration] = text.split('.').map(Number);
  return iteration === undefined ? run : { run, iteration };
}

/** Returns the text of what comes next, or a sign of life if nothing comes. */
function nextText(open: (onTrouble: (why: string | null) => void) => AsyncGenerator<PlacedEvent, void>): NextText {
  let coming: Promise<string | null> | null = null;
  let trouble: string | null | undefined;
  let wake = (): void => undefined;
  const events = open((why) => {
    trouble = why;
    wake();
  });
  return async () => {
    coming ??= readNext(events);
    const quiet = new Promise<'quiet'>((resolve) => {
      const timer = setTimeout(() => resolve('quiet'), KEEPALIVE_MS);
      wake = () => (clearTimeout(timer), resolve('quiet'));
      void coming?.finally(() => clearTimeout(timer));
    });
    const text = trouble === undefined ? await Promise.race([coming, quiet]) : 'quiet';
    if (text !== 'quiet') return ((coming = null), text);
    if (trouble === undefined) return BEAT;
    const frame = `event: trouble\ndata: ${jsonLine({ why: trouble })}\n\n`;
    trouble = undefined;
    return frame;
  };
}

/** After a lasting problem the listener need not return. */
async function readNext(events: AsyncGenerator<PlacedEvent, void>): Promise<string | null> {
  try {
    const { value, done } = await events.next();
    return done || value === undefined ? null : eventText(value.id, value.event);
  } catch (error) {
    const problem = problemOf(error);
    const id = problem.status < 500 ? `id: ${OVER}\n` : '';
    return `${id}event: problem\ndata: ${jsonLine(problem)}\n\n`;
  }
}

const eventText = (id: string, event: Followed): string => `id: ${id}\ndata: ${jsonLine(event)}\n\n`;

type Listening = {
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

export async function* eventsWithPlaces(
  ports: Pick<PagePorts, 'follow'>,
  listening: Listening,
): AsyncGenerator<PlacedEvent, void> {
  const placing = new PlaceTracker(listening.from ?? firstPlace(listening));
  const events = listening.from === null ? newEvents(ports, listening) : continueEvents(ports, listening, placing);
  for await (const event of events) {
    // An attempt without sent events has nothing to take back.
    if (isTombstone(event) && !placing.knows(attemptName(event))) continue;
    placing.hear(event);
    yield { id: event.type === 'result' ? OVER : formatPlace(placing.place), event };
  }
}

function newEvents(ports: Pick<PagePorts, 'follow'>, { session, goal, options }: Listening): AsyncIterable<Followed> {
  return ports.follow(session, { ...goal, ...options });
}

function firstPlace({ seen: description, goal: { messageId, after } }: Listening): EventPlace {
  if (after === undefined) return placeAt(goalOf(description, messageId ?? null).from, 0);
  return typeof after === 'number' ? placeAt(after + 1, 0) : placeAt(after.run, after.iteration);
}

async function* continueEvents(
  ports: Pick<PagePorts, 'follow'>,
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
