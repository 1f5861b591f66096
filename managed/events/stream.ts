// Streams a session's events (G41, G42). The live channel, requests in this process and a check
// each second wake it, so nothing is missed when the first two are lost; what it sends is read from
// the transcript.
import type {
  BetaManagedAgentsDeltaType,
  BetaManagedAgentsSessionEvent,
  BetaManagedAgentsStreamSessionEvents,
} from '@anthropic-ai/sdk/resources/beta/sessions';
import type { ChannelItem, SessionId } from '../../client/faces/types.ts';
import { type WorkQueues } from '../../client/faces/work-items.ts';
import { BEAT, KEEPALIVE_MS, type NextText, sendFrames } from '../../page/event-frames.ts';
import { lineOf, ManagedError } from '../errors.ts';
import { eventId, formatMicros } from '../ids.ts';
import type { ManagedPorts } from '../ports.ts';
import { type FoundSession, isAtBudget, isWaiting, statusOf } from '../session-status.ts';
import type { EventSource, Sessions } from '../sessions.ts';
import type { EventBus } from './bus.ts';
import type { EventFact } from './parts.ts';
import { Previews } from './previews.ts';
import type { Timeline, Timelines } from './timelines.ts';
import type { SessionLease } from '../work/credentials.ts';
import { beginStream, isOpenCall, isOver, streamToWorker, type WorkerStream } from '../work/view.ts';

const LOOK_MS = 1_000;
const STALLED_MS = 60_000;
/** Milliseconds in which a session reports the end of a run that is stored. */
const SETTLE_MS = 2_000;
const SETTLE_LOOK_MS = 20;

export type StreamParts = {
  readonly ports: ManagedPorts;
  readonly sessions: Sessions;
  readonly timelines: Timelines;
  readonly bus: EventBus;
  readonly queues: WorkQueues;
};

type StreamRequest = {
  readonly source: EventSource;
  /** Events that are previewed while they are written. */
  readonly deltas: readonly BetaManagedAgentsDeltaType[];
  /** The lease of the worker that listens; absent for people. */
  readonly lease: SessionLease | undefined;
  /** The id of the last event that the listener has; '0' stands before the first. */
  readonly last: string | undefined;
  readonly closing: AbortSignal;
  /** Is called once when the stream is over. */
  readonly left: () => void;
};

/** Resolves when events from now on reach the listener. Throws ManagedError. */
export async function openStream(parts: StreamParts, request: StreamRequest): Promise<Response> {
  const { source, last, deltas, lease, closing, left } = request;
  const { session } = source;
  const found = await source.find();
  const timeline = await source.timeline(found);
  const { facts, step = 0 } = timeline;
  const before = eventsBefore(facts, last);
  // A call that a worker was not shown yet comes when it may run.
  const sent = new Set((lease ? before.filter((fact) => !isOpenCall(facts, fact)) : before).map(({ id }) => id));
  const previews = new Previews(last === undefined || last === '' ? deltas : [], step);
  // A call that is shown once would go into a connection that its worker has lost.
  const own = lease && (await beginStream(parts, lease));
  if (own) parts.bus.publish(session, {});
  return sendFrames({ left, closing, stalledMs: STALLED_MS }, (signal) =>
    withBeats(eventFrames(parts, { source, found, timeline, sent, previews, lease: own, signal }), (error) => {
      if (!signal.aborted) parts.ports.log(`managed agents: a stream of session ${session} ended: ${lineOf(error)}`);
    }),
  );
}

/** The events that a listener has: all up to now, or up to the last that it names. */
function eventsBefore(facts: readonly EventFact[], last: string | undefined): readonly EventFact[] {
  if (last === undefined || last === '') return facts;
  if (last === '0') return [];
  const at = facts.findIndex(({ id }) => id === last);
  if (at < 0)
    throw new ManagedError(400, 'Last-Event-ID is none of this stream: leave it out, or send 0 for all events');
  return facts.slice(0, at + 1);
}

type Streaming = {
  readonly source: EventSource;
  readonly found: FoundSession;
  /** The events before the stream was opened. */
  readonly timeline: Timeline;
  /** Ids of the events that the listener has. */
  readonly sent: Set<string>;
  readonly previews: Previews;
  readonly lease: WorkerStream | undefined;
  readonly signal: AbortSignal;
};

/** News since the stream was last written to. */
type News = {
  readonly waker: Waker;
  /** Events that are queued and not processed yet. */
  readonly queued: BetaManagedAgentsSessionEvent[];
  readonly items: ChannelItem[];
  /** Whether there may be new events. */
  isStale: boolean;
};

/**
 * A look costs one call of the server while the session is idle, and nothing has come. A session
 * with calls that wait is not at rest: one of them may be settled by somebody else.
 */
const isSameRest = (a: FoundSession, b: FoundSession): boolean =>
  [a, b].every((found) => statusOf(found) === 'idle' && !isWaiting(found) && !isAtBudget(found)) &&
  a.description?.runs === b.description?.runs &&
  a.description?.head === b.description?.head;

async function* eventFrames(parts: StreamParts, streaming: Streaming): AsyncGenerator<string, void> {
  const { source, sent, previews, lease, signal } = streaming;
  const { session } = source;
  const news: News = { waker: createWaker(), queued: [], items: [], isStale: true };
  const unlisten = parts.bus.listen(session, ({ queued }) => {
    if (queued) news.queued.push(queued);
    news.isStale = true;
    news.waker.wake();
  });
  // A listener that has gone asks for nothing more, so that the generator would never end.
  signal.addEventListener('abort', unlisten, { once: true });
  void readLive(parts, streaming, news);
  let { found: last, timeline } = streaming;
  try {
    for (let isWoken = true; !signal.aborted; isWoken = await news.waker.next(LOOK_MS, signal)) {
      if (lease && (await isOver(parts, lease))) return;
      const found = news.isStale || !isWoken ? await findAgain(source) : last;
      if (found === null) return yield frameOf(deletedEvent(session, parts.ports.now()));
      const isNew = news.isStale || (!isWoken && !isSameRest(found, last));
      last = found;
      if (isNew) {
        news.isStale = false;
        timeline = await source.timeline(found);
        if (signal.aborted) return;
        for (const event of news.queued.splice(0)) if (!sent.has(event.id)) yield frameOf(event, false);
        const unsent = timeline.facts.filter(({ id }) => !sent.has(id));
        const facts = lease ? await streamToWorker(parts, lease, timeline, { unsent, sent }) : unsent;
        if (facts.at(-1)?.type === 'session.status_idle') await awaitRest(source, signal);
        for (const { id } of facts) sent.add(id);
        for (const event of await parts.timelines.write(facts)) yield frameOf(event);
        if (facts.at(-1)?.type === source.end) return;
      }
      // Items of a step come after the sign that it has begun, whose events go first.
      for (const item of news.isStale ? [] : news.items.splice(0))
        for (const frame of previews.preview(item, timeline)) yield frameOf(frame, false);
    }
  } finally {
    unlisten();
  }
}

/** Returns null when the session was deleted. */
async function findAgain(source: EventSource): Promise<FoundSession | null> {
  try {
    return await source.find();
  } catch (error) {
    if (error instanceof ManagedError && error.status === 404) return null;
    throw error;
  }
}

/** A listener that looks at the session after the end of a run finds it at rest. */
export async function awaitRest(source: EventSource, signal: AbortSignal): Promise<void> {
  const waker = createWaker();
  const until = performance.now() + SETTLE_MS;
  while (!signal.aborted && performance.now() < until) {
    const found = await source.find().catch(() => null);
    if (found === null || statusOf(found) !== 'running') return;
    await waker.next(SETTLE_LOOK_MS, signal);
  }
}

/** Items of the live channel after which there are new events, or soon. */
const NEWS: ReadonlySet<string> = new Set([
  'notice',
  'run_start',
  'user',
  'request_start',
  'reply',
  'stored',
  'tool_end',
  'run_end',
]);
/** Items that wait for a slow listener, who gets the rest whole. */
const MOST_ITEMS = 5_000;

/** Losing the live channel loses nothing: the store is looked at each second. */
async function readLive({ ports }: StreamParts, { source, previews, signal }: Streaming, news: News): Promise<void> {
  try {
    for await (const item of ports.live(source.session as SessionId, signal)) {
      if (NEWS.has(item.type)) news.isStale = true;
      if (previews.takes(item) || item.type === 'tombstone') news.items.push(item);
      if (news.items.length > MOST_ITEMS) return;
      if (news.isStale || news.items.length > 0) news.waker.wake();
    }
  } catch {
    // The looks go on.
  }
}

const deletedEvent = (session: string, now: number): BetaManagedAgentsSessionEvent => ({
  id: eventId(session, 'deleted'),
  type: 'session.deleted',
  processed_at: formatMicros(now * 1000),
});

/** SDKs drop frames without an `event:` line. What is not stored has no place to continue from. */
function frameOf(event: BetaManagedAgentsStreamSessionEvents, isPlaced = true): string {
  const id = isPlaced && 'id' in event ? `id: ${event.id}\n` : '';
  return `event: ${event.type}\n${id}data: ${JSON.stringify(event)}\n\n`;
}

/** Sends a sign of life when nothing comes. Trouble on the way closes the connection (G42). */
function withBeats(frames: AsyncGenerator<string, void>, report: (error: unknown) => void): NextText {
  let coming: Promise<string | null> | null = null;
  return async () => {
    coming ??= frames.next().then(
      ({ value, done }) => (done || value === undefined ? null : value),
      (error: unknown) => (report(error), null),
    );
    let timer: NodeJS.Timeout | undefined;
    const quiet = new Promise<string>((resolve) => {
      timer = setTimeout(() => resolve(BEAT), KEEPALIVE_MS);
    });
    const text = await Promise.race([coming, quiet]);
    clearTimeout(timer);
    if (text !== BEAT) coming = null;
    return text;
  };
}

type Waker = {
  readonly wake: () => void;
  /** Resolves to true when it was woken since the last time, to false after `ms` or on abort. */
  next(ms: number, signal: AbortSignal): Promise<boolean>;
};

function createWaker(): Waker {
  let isWoken = false;
  let resolveNext = (): void => undefined;
  return {
    wake: () => {
      isWoken = true;
      resolveNext();
    },
    next: async (ms, signal) => {
      if (!isWoken && !signal.aborted)
        await new Promise<void>((resolve) => {
          const end = (): void => {
            clearTimeout(timer);
            signal.removeEventListener('abort', end);
            resolve();
          };
          const timer = setTimeout(end, ms);
          resolveNext = end;
          signal.addEventListener('abort', end, { once: true });
        });
      const wasWoken = isWoken;
      isWoken = false;
      return wasWoken;
    },
  };
}
