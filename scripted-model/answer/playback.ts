// A response as a list of actions, and the one place that performs them on a socket.
// A message as the API streams it: server-sent events, each as its text on the wire.
import type { ServerResponse } from 'node:http';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { present } from '../../workflows/contract/present.ts';
import type { MessageBlock, ScriptedMessage } from './message.ts';

export type Action =
  | { readonly do: 'write'; readonly bytes: Buffer }
  | { readonly do: 'pause'; readonly ms: number }
  | { readonly do: 'hold'; readonly until: Promise<void> }
  /** Sends pings for ever, until the client leaves or the server closes. */
  | { readonly do: 'pings'; readonly everyMs: number }
  | { readonly do: 'silence' }
  /** Destroys the connection. Absent: the response ends well. */
  | { readonly do: 'cut' };

export function writeText(text: string): Action {
  return { do: 'write', bytes: Buffer.from(text) };
}

/** The end of a response. `left`: the client closed first, or the server was closed. */
export type ResponseEnd = 'finished' | 'cut' | 'left';

/**
 * Performs the actions. `closed` aborts when the connection closes. Resolves with the end of the
 * response; never rejects for what a client does.
 */
export async function playActions(
  response: ServerResponse,
  actions: readonly Action[],
  closed: AbortSignal,
): Promise<ResponseEnd> {
  for (const [index, action] of actions.entries()) {
    if (closed.aborted) return 'left';
    if (action.do === 'cut') {
      response.destroy();
      return 'cut';
    }
    if (action.do === 'write' && index === actions.length - 1) {
      // One packet has the end, and the headers when nothing was sent before.
      response.end(action.bytes);
      return 'finished';
    }
    await perform(response, action, closed);
  }
  if (closed.aborted) return 'left';
  response.end();
  return 'finished';
}

async function perform(response: ServerResponse, action: Action, closed: AbortSignal): Promise<void> {
  switch (action.do) {
    case 'write':
      return writeBytes(response, action.bytes);
    case 'pause':
      return pauseFor(action.ms, closed);
    case 'hold':
      return Promise.race([action.until, awaitDeparture(closed)]);
    case 'pings':
      while (!closed.aborted) {
        await pauseFor(action.everyMs, closed);
        if (!closed.aborted) await writeBytes(response, Buffer.from(PING));
      }
      return;
    case 'silence':
      return awaitDeparture(closed);
    case 'cut':
  }
}

/**
 * Resolves when the bytes are with the operating system, so that a cut that follows does not take
 * them along.
 */
function writeBytes(response: ServerResponse, bytes: Buffer): Promise<void> {
  return new Promise((resolve) => {
    response.write(bytes, () => resolve());
  });
}

export async function pauseFor(ms: number, closed: AbortSignal): Promise<void> {
  if (ms === 0) return setImmediate();
  try {
    await setTimeout(ms, undefined, { signal: closed, ref: false });
  } catch (error) {
    if (!closed.aborted) throw error;
  }
}

function awaitDeparture(closed: AbortSignal): Promise<void> {
  if (closed.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    closed.addEventListener('abort', () => resolve(), { once: true });
  });
}

export const PING = formatEvent('ping', { type: 'ping' });

export function formatEvent(name: string, data: object): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** A text that is sent at once, and the wait before it. */
export type Piece = { readonly text: string; readonly waitMs?: number };

/**
 * Lists all events of a message, in order. `deltaChars` is the number of characters in each delta.
 */
export function listEvents(message: ScriptedMessage, deltaChars: number): readonly Piece[] {
  const events: Piece[] = [buildPiece('message_start', { message: buildStart(message) })];
  for (const [index, block] of message.blocks.entries()) {
    events.push(buildPiece('content_block_start', { index, content_block: block.start }));
    if (index === 0) events.push({ text: PING });
    const rest = [
      ...splitDeltas(block, deltaChars).map((delta) => buildPiece('content_block_delta', { index, delta })),
      buildPiece('content_block_stop', { index }),
    ];
    events.push(...addPings(block, rest));
  }
  events.push(buildPiece('message_delta', buildEnd(message)), buildPiece('message_stop', {}));
  return events;
}

function buildPiece(type: string, data: object): Piece {
  return { text: formatEvent(type, { type, ...data }) };
}

/** Adds pings: a model that thinks for long sends nothing else. */
function addPings({ silent }: MessageBlock, [first, ...rest]: readonly Piece[]): readonly Piece[] {
  if (silent === undefined || first === undefined) return first === undefined ? [] : [first, ...rest];
  const { ms, pingMs } = silent;
  const pings = Math.max(0, Math.ceil(ms / pingMs) - 1);
  const waits = Array.from({ length: pings }, (): Piece => ({ text: PING, waitMs: pingMs }));
  return [...waits, { ...first, waitMs: ms - pings * pingMs }, ...rest];
}

function buildStart({ head, usage, transformations }: ScriptedMessage): object {
  return {
    ...head,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    ...(usage === null ? {} : { usage: buildStartUsage(usage) }),
    ...present({ input_transformations: transformations }),
  };
}

function buildStartUsage({
  iterations: _iterations,
  server_tool_use: _used,
  ...usage
}: Readonly<Record<string, unknown>>): object {
  return { ...usage, output_tokens: usage['output_tokens'] === 0 ? 0 : 1 };
}

function buildEnd({ stopReason, stopDetails, usage, finalTransformations }: ScriptedMessage): object {
  const { input_tokens, cache_creation_input_tokens, cache_read_input_tokens, output_tokens, ...more } = usage ?? {};
  const { iterations, server_tool_use } = more;
  const counts = { input_tokens, cache_creation_input_tokens, cache_read_input_tokens, output_tokens };
  return {
    delta: {
      stop_reason: stopReason,
      stop_sequence: null,
      ...present({ stop_details: stopDetails }),
    },
    ...(usage === null ? {} : { usage: { ...counts, iterations, server_tool_use } }),
    ...present({ input_transformations: finalTransformations }),
  };
}

const FIELDS = { text_delta: 'text', thinking_delta: 'thinking', input_json_delta: 'partial_json' } as const;

function splitDeltas(block: MessageBlock, size: number): readonly object[] {
  const { delta, streamed, signature, estimate } = block;
  if (delta === null) return [];
  const found: object[] = delta === 'input_json_delta' ? [{ type: delta, partial_json: '' }] : [];
  for (let at = 0; at < streamed.length;) {
    const end = roundToCharacters(streamed, at + size);
    const counted = estimate === undefined ? {} : { estimated_tokens: estimate };
    found.push({ type: delta, [FIELDS[delta]]: streamed.slice(at, end), ...counted });
    at = end;
  }
  if (typeof estimate === 'number') found.push({ type: delta, thinking: '', estimated_tokens: estimate });
  if (signature !== undefined) found.push({ type: 'signature_delta', signature });
  return found;
}

/** Returns `end`, or one more, so that no delta ends between the halves of a surrogate pair. */
function roundToCharacters(text: string, end: number): number {
  const code = text.charCodeAt(end - 1);
  return code >= 0xd800 && code <= 0xdbff ? end + 1 : end;
}
