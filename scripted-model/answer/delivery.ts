// Turns a reply into what happens on the wire: pauses and holds, cuts and chunks that count bytes.
import { cutMessage, messageJson, type ScriptedMessage } from './message.ts';
import type { Action } from './playback.ts';
import type { Reply, Fault } from '../script.ts';
import { sseEvents, event, type Piece } from './sse.ts';
import { apiError, errorData, invalidRequest, type ApiError } from '../read-request.ts';

type Delivery =
  | { readonly kind: 'body'; readonly actions: readonly Action[] }
  /** The script asks for what this reply cannot do. */
  | { readonly kind: 'broken'; readonly why: string };

/** The message's way to the client. `stream`: as server-sent events, else as one JSON text. */
export function deliver(reply: Reply, message: ScriptedMessage, stream: boolean): Delivery {
  const { fault, ...plain } = reply;
  if (fault !== undefined && 'maxTokensAfter' in fault) {
    const { block, chars } = fault.maxTokensAfter;
    if (block >= message.blocks.length) return tooFar(`maxTokensAfter block ${block}`, message.blocks.length, 'block');
    return deliver(plain, cutMessage(message, block, chars), stream);
  }
  if (stream) return deliverEvents(reply, sseEvents(message, Math.max(1, reply.deltaChars ?? 200)));
  if (fault !== undefined && !('cutAtByte' in fault)) {
    return { kind: 'broken', why: `scripted model: fault ${Object.keys(fault)[0]} needs a request with stream: true` };
  }
  const waitMs = message.blocks.reduce((sum, { silent }) => sum + (silent?.ms ?? 0), 0);
  return inBytes(reply, held(reply, [{ text: messageJson(message), waitMs }], 0));
}

function deliverEvents(reply: Reply, events: readonly Piece[]): Delivery {
  const { sent, ending } = afterEvents(reply.fault, events.length);
  if (sent > events.length) return tooFar(`fault after event ${sent}`, events.length, 'event');
  const holdAt = reply.holdAfterEvent ?? 1;
  if (reply.hold !== undefined && holdAt > sent) return tooFar(`holdAfterEvent ${holdAt}`, sent, 'event');
  return inBytes(reply, [...held(reply, events.slice(0, sent), holdAt), ...ending]);
}

/**
 * The pieces with their pauses, and the hold after the first `holdAt` of them. Without either they
 * are one write.
 */
function held(reply: Reply, pieces: readonly Piece[], holdAt: number): readonly Action[] {
  if (reply.hold === undefined) return paced(reply, pieces);
  const hold: Action = { do: 'hold', until: reply.hold };
  return [...paced(reply, pieces.slice(0, holdAt)), hold, ...paced(reply, pieces.slice(holdAt))];
}

/** Pieces between which nothing is waited for are one write. */
function paced({ msPerEvent }: Reply, pieces: readonly Piece[]): readonly Action[] {
  const actions: Action[] = [];
  let text = '';
  const flush = (): void => {
    if (text !== '') actions.push(written(text));
    text = '';
  };
  for (const { text: next, waitMs = 0 } of pieces) {
    if (msPerEvent !== undefined || waitMs > 0) {
      flush();
      actions.push({ do: 'pause', ms: (msPerEvent ?? 0) + waitMs });
    }
    text += next;
  }
  flush();
  return actions;
}

/** Faults and chunks that count bytes. */
function inBytes(reply: Reply, actions: readonly Action[]): Delivery {
  const { fault, chunkBytes } = reply;
  const cut = fault !== undefined && 'cutAtByte' in fault ? fault.cutAtByte : Infinity;
  const found: Action[] = [];
  let sent = 0;
  for (const action of actions) {
    if (action.do !== 'write') {
      found.push(action);
      continue;
    }
    const bytes = action.bytes.subarray(0, cut - sent);
    sent += bytes.length;
    found.push(...chunked(bytes, chunkBytes));
    if (bytes.length < action.bytes.length) return { kind: 'body', actions: [...found, { do: 'cut' }] };
  }
  if (cut === Infinity) return { kind: 'body', actions: found };
  return cut === sent ? { kind: 'body', actions: [...found, { do: 'cut' }] } : tooFar(`cutAtByte ${cut}`, sent, 'byte');
}

function chunked(bytes: Buffer, size: number | undefined): readonly Action[] {
  if (bytes.length === 0) return [];
  if (size === undefined || bytes.length <= size) return [{ do: 'write', bytes }];
  const pieces: Action[] = [];
  for (let at = 0; at < bytes.length; at += size) {
    pieces.push({ do: 'write', bytes: bytes.subarray(at, at + size) }, { do: 'pause', ms: 0 });
  }
  return pieces;
}

function tooFar(what: string, have: number, unit: string): Delivery {
  return { kind: 'broken', why: `scripted model: ${what}, but the reply has ${have} ${unit}${have === 1 ? '' : 's'}` };
}

// The effect of each fault: answer something else instead of the message, or end its stream early.

/** An answer that is not the message. `silence`: not even headers. */
type FaultAnswer =
  { readonly kind: 'error'; readonly error: ApiError } | { readonly kind: 'hang_up' } | { readonly kind: 'silence' };

const BROKEN_JSON =
  'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_del\n\n';

/**
 * Returns the answer of a fault instead of a message, whatever the reply's content; undefined for a
 * fault that needs the message.
 */
export function faultAnswer(fault: Fault | undefined): FaultAnswer | undefined {
  if (fault === undefined) return undefined;
  if ('status' in fault) return { kind: 'error', error: statusError(fault) };
  if ('too_long' in fault) {
    return { kind: 'error', error: invalidRequest('prompt is too long: 213047 tokens > 200000 maximum') };
  }
  if ('media_too_large' in fault) {
    const path = 'messages.0.content.1.image.source.base64';
    const error = invalidRequest(`${path}: image exceeds 5 MB maximum: 9427836 bytes > 5242880 bytes`);
    return { kind: 'error', error };
  }
  if ('hangUp' in fault) return { kind: 'hang_up' };
  if ('silence' in fault) return { kind: 'silence' };
  return undefined;
}

function statusError(fault: Extract<Fault, { status: number }>): ApiError {
  return {
    ...apiError(fault.status, fault.message),
    ...(fault.errorCode === undefined ? {} : { details: { error_code: fault.errorCode } }),
    ...(fault.retryAfter === undefined ? {} : { retryAfter: fault.retryAfter }),
    ...(fault.xShouldRetry === undefined ? {} : { shouldRetry: fault.xShouldRetry }),
  };
}

/** How many of a stream's events are sent under this fault, and what comes after them. */
function afterEvents(fault: Fault | undefined, total: number): { sent: number; ending: readonly Action[] } {
  if (fault === undefined) return { sent: total, ending: [] };
  if ('cutAfterEvent' in fault) return { sent: fault.cutAfterEvent, ending: [{ do: 'cut' }] };
  if ('silenceAfterEvent' in fault) return { sent: fault.silenceAfterEvent, ending: [{ do: 'silence' }] };
  if ('pingsAfterEvent' in fault) {
    return { sent: fault.pingsAfterEvent, ending: [{ do: 'pings', everyMs: fault.pingMs ?? 1_000 }] };
  }
  if ('garbageAfterEvent' in fault) {
    return { sent: fault.garbageAfterEvent, ending: [written(fault.garbage ?? BROKEN_JSON)] };
  }
  if ('withoutMessageStop' in fault) return { sent: total - 1, ending: [] };
  if ('errorEvent' in fault) {
    const message = fault.message ?? (fault.errorEvent === 'overloaded_error' ? 'Overloaded' : 'Internal server error');
    const error = event('error', errorData(fault.errorEvent, message));
    return { sent: fault.afterEvent ?? 1, ending: [written(error)] };
  }
  return { sent: total, ending: [] };
}

function written(text: string): Action {
  return { do: 'write', bytes: Buffer.from(text) };
}
