// Sends events as server-sent events, one JSON object each, with the listener's new place as their
// id.
import type { MessageId, SessionId } from '../../workflows/contract/ids.ts';
import { jsonLine } from '../../system/text.ts';
import type { Followed, SeenIteration } from '../../client/follow/cursor.ts';
import { goalAfter, hasNoRun } from '../../client/follow/goal.ts';
import { ClientProblem } from '../../client/problem.ts';
import type { PagePorts } from '../ports.ts';
import { OVER, parsePlace } from './event-place.ts';
import type { SessionDescription } from '../../client/sessions/info.ts';
import { HttpProblem, problemOf } from './problems.ts';
import { eventsWithPlaces, type PlacedEvent } from './resume-events.ts';

/** Milliseconds between signs of life for a proxy or a listener. */
const BEAT_MS = 15_000;
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
export async function openEventStream(ports: Ports, asked: StreamRequest): Promise<Response | null> {
  let stream: Response | null = null;
  try {
    stream = await streamOf(ports, asked);
    return stream;
  } finally {
    if (stream === null) asked.left();
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
  const seen = await ports.describe(session);
  if (last === OVER || (after !== undefined && hasNoRun(goalAfter(runBefore(after)), seen))) return null;
  if (message !== undefined && from === null && !(await wasSent(ports, seen, message)))
    throw new HttpProblem('no_message', `session ${session} was never sent message ${quoteId(message)}: send it first`);
  const gone = new AbortController();
  const signal = AbortSignal.any([gone.signal, closing]);
  let told = (_why: string | null): void => undefined;
  const goal = {
    ...(message !== undefined && { messageId: message as MessageId }),
    ...(after !== undefined && { after }),
  };
  const onTrouble = (why: string | null): void => told(why);
  const events = eventsWithPlaces(ports, { session, seen, from, goal, options: { signal, onTrouble } });
  const end = (): void => {
    if (gone.signal.aborted) return;
    gone.abort();
    left();
  };
  return streamResponse(events, { signal, end, hear: (listener) => (told = listener) });
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

type Source = {
  readonly signal: AbortSignal;
  readonly end: () => void;
  hear(listener: (why: string | null) => void): void;
};

/** Neither ends a frame: a frame without data is an event of its own for some clients. */
const RETRY = 'retry: 1000\n';
const BEAT = ': here\n';

function streamResponse(events: AsyncGenerator<PlacedEvent, void>, { signal, end, hear }: Source): Response {
  const encoder = new TextEncoder();
  const next = nextText(events, hear);
  let stalled: NodeJS.Timeout | undefined;
  const body = new ReadableStream<Uint8Array>(
    {
      start: (controller) => {
        controller.enqueue(encoder.encode(RETRY));
        signal.addEventListener('abort', end, { once: true });
      },
      pull: async (controller) => {
        clearTimeout(stalled);
        const text = await next();
        if (text === null) {
          end();
          return controller.close();
        }
        controller.enqueue(encoder.encode(text));
        stalled = setTimeout(() => (end(), controller.error(new Error('nothing was read'))), STALLED_MS);
        stalled.unref();
      },
      cancel: () => (clearTimeout(stalled), end()),
    },
    { highWaterMark: 1 },
  );
  return new Response(body, {
    headers: { 'Content-Type': 'text/event-stream; charset=utf-8', 'X-Accel-Buffering': 'no' },
  });
}

/** Returns the text of what comes next, a sign of life if nothing comes, or null at the end. */
function nextText(events: AsyncGenerator<PlacedEvent, void>, hear: Source['hear']): () => Promise<string | null> {
  let coming: Promise<string | null> | null = null;
  let trouble: string | null | undefined;
  let wake = (): void => undefined;
  hear((why) => {
    trouble = why;
    wake();
  });
  return async () => {
    coming ??= readNext(events);
    const quiet = new Promise<'quiet'>((resolve) => {
      const timer = setTimeout(() => resolve('quiet'), BEAT_MS);
      wake = () => (clearTimeout(timer), resolve('quiet'));
      void coming?.finally(() => clearTimeout(timer));
    });
    const text = trouble === undefined ? await Promise.race([coming, quiet]) : 'quiet';
    if (text !== 'quiet') return ((coming = null), text);
    if (trouble === undefined) return BEAT;
    const said = `event: trouble\ndata: ${jsonLine({ why: trouble })}\n\n`;
    trouble = undefined;
    return said;
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
