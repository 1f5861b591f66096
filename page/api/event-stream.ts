// Sends events as server-sent events, one JSON object each, with the listener's new place as their
// id.
import type { MessageId, SessionId } from '../../workflows/contract/ids.ts';
import { jsonLine } from '../../system/text.ts';
import type { Followed, SeenIteration, SessionDescription } from '../../client/index.ts';
import { goalAfter, hasNoRun } from '../../client/follow/goal.ts';
import { ClientProblem } from '../../client/problem.ts';
import { BEAT, HEARTBEAT_MS, type NextText, sendFrames } from '../event-frames.ts';
import type { PagePorts } from '../ports.ts';
import { OVER, parsePlace } from './event-place.ts';
import { HttpProblem, problemOf } from './problems.ts';
import { eventsWithPlaces, type PlacedEvent } from './resume-events.ts';

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
      const timer = setTimeout(() => resolve('quiet'), HEARTBEAT_MS);
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
