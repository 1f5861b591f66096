// The stream of a session's events (G41, G42). It wakes by the live channel, by what a request of
// this process has sent, and by a look each second, so that nothing is missed when the first two
// are lost; what it sends is read from the transcript.
import type { BetaManagedAgentsSessionEvent } from '@anthropic-ai/sdk/resources/beta/sessions';
import { BEAT, HEARTBEAT_MS, type NextText, sendFrames } from '../../page/event-frames.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import { ManagedError } from '../errors.ts';
import { eventId, formatMicros } from '../ids.ts';
import type { ManagedPorts } from '../ports.ts';
import type { FoundSession, Sessions } from '../sessions.ts';
import { statusOf } from '../sessions.ts';
import type { EventBus } from './bus.ts';
import type { EventFact } from './parts.ts';
import type { Timelines } from './timelines.ts';

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
};

type StreamRequest = {
  readonly session: string;
  /** The id of the last event that the listener has; '0' stands before the first. */
  readonly last: string | undefined;
  readonly closing: AbortSignal;
  /** Is called once when the stream is over. */
  readonly left: () => void;
};

/** Resolves when events from now on reach the listener. Throws ManagedError. */
export async function openStream(parts: StreamParts, request: StreamRequest): Promise<Response> {
  const { session, last, closing, left } = request;
  const found = await parts.sessions.find(session);
  const { facts } = await parts.sessions.timeline(found);
  const sent = new Set(seenBefore(facts, last).map(({ id }) => id));
  return sendFrames({ left, closing, stalledMs: STALLED_MS }, (signal) => {
    const frames = eventFrames(parts, { session, found, sent, signal });
    return withBeats(frames);
  });
}

/** The events that a listener has: all up to now, or up to the last that it names. */
function seenBefore(facts: readonly EventFact[], last: string | undefined): readonly EventFact[] {
  if (last === undefined || last === '') return facts;
  if (last === '0') return [];
  const at = facts.findIndex(({ id }) => id === last);
  if (at < 0) throw new ManagedError(400, 'Last-Event-ID is none of this stream: leave it out, or send 0 for all events');
  return facts.slice(0, at + 1);
}

type Streaming = {
  readonly session: string;
  readonly found: FoundSession;
  /** Ids of the events that the listener has. */
  readonly sent: Set<string>;
  readonly signal: AbortSignal;
};

async function* eventFrames(parts: StreamParts, streaming: Streaming): AsyncGenerator<string, void> {
  const { session, sent, signal } = streaming;
  const waker = createWaker();
  const queued: BetaManagedAgentsSessionEvent[] = [];
  const unlisten = parts.bus.listen(session, (news) => {
    if (news.queued) queued.push(news.queued);
    waker.wake();
  });
  void wakeByLive(parts, streaming, waker.wake);
  try {
    for (let found: FoundSession | null = streaming.found; !signal.aborted;) {
      if (found === null) return yield frameOf(deletedEvent(session, parts.ports.now()));
      const facts = (await parts.sessions.timeline(found)).facts.filter(({ id }) => !sent.has(id));
      for (const event of queued.splice(0)) if (!sent.has(event.id)) yield frameOf(event, false);
      if (facts.at(-1)?.type === 'session.status_idle') await awaitRest(parts.sessions, session, signal);
      for (const { id } of facts) sent.add(id);
      for (const event of await parts.timelines.write(facts)) yield frameOf(event);
      if (facts.at(-1)?.type === 'session.status_terminated') return;
      await waker.next(LOOK_MS, signal);
      found = await findAgain(parts, session);
    }
  } finally {
    unlisten();
  }
}

/** Returns null when the session was deleted. */
async function findAgain({ sessions }: StreamParts, session: string): Promise<FoundSession | null> {
  try {
    return await sessions.find(session);
  } catch (error) {
    if (error instanceof ManagedError && error.status === 404) return null;
    throw error;
  }
}

/** A listener that looks at the session after the end of a run finds it at rest. */
export async function awaitRest(sessions: Sessions, session: string, signal: AbortSignal): Promise<void> {
  const waker = createWaker();
  const until = performance.now() + SETTLE_MS;
  while (!signal.aborted && performance.now() < until) {
    const found = await sessions.find(session).catch(() => null);
    if (found === null || statusOf(found) !== 'running') return;
    await waker.next(SETTLE_LOOK_MS, signal);
  }
}

/** Items of the live channel after which there are new events, or soon. */
const NEWS: ReadonlySet<string> = new Set(['run_start', 'user', 'reply', 'stored', 'tool_end', 'run_end']);

/** Losing the live channel loses nothing: the store is looked at each second. */
async function wakeByLive({ ports }: StreamParts, { session, signal }: Streaming, wake: () => void) {
  try {
    for await (const item of ports.live(session as SessionId, signal)) {
      if (NEWS.has(item.type)) wake();
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

/** SDKs drop frames without an `event:` line. A queued event has no place to continue from. */
function frameOf(event: BetaManagedAgentsSessionEvent, isPlaced = true): string {
  const id = isPlaced ? `id: ${event.id}\n` : '';
  return `event: ${event.type}\n${id}data: ${JSON.stringify(event)}\n\n`;
}

/** Sends a sign of life when nothing comes. Trouble on the way closes the connection (G42). */
function withBeats(frames: AsyncGenerator<string, void>): NextText {
  let coming: Promise<string | null> | null = null;
  return async () => {
    coming ??= frames.next().then(
      ({ value, done }) => (done || value === undefined ? null : value),
      () => null,
    );
    let timer: NodeJS.Timeout | undefined;
    const quiet = new Promise<string>((resolve) => {
      timer = setTimeout(() => resolve(BEAT), HEARTBEAT_MS);
    });
    const text = await Promise.race([coming, quiet]);
    clearTimeout(timer);
    if (text !== BEAT) coming = null;
    return text;
  };
}

type Waker = {
  readonly wake: () => void;
  /** Resolves when it was woken since the last time, after `ms`, or on abort. */
  next(ms: number, signal: AbortSignal): Promise<void>;
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
      isWoken = false;
    },
  };
}
