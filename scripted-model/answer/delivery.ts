// Turns a reply into the actions on the wire: pauses and holds, cuts and chunks that count bytes.
import { type ScriptedMessage, toJson, truncateMessage } from './message.ts';
import { type Action, formatEvent, listEvents, type Piece, writeText } from './playback.ts';
import type { Fault, Reply } from '../script.ts';
import { type ApiError, buildApiError, buildErrorData, buildInvalidRequest } from '../api-error.ts';
import { present } from '../../workflows/contract/present.ts';

type Delivery =
  | { readonly kind: 'body'; readonly actions: readonly Action[] }
  /** The script asks for something that this reply cannot do. */
  | { readonly kind: 'broken'; readonly why: string };

/** Delivers the message to the client. `stream`: as server-sent events, else as one JSON text. */
export function deliverReply(reply: Reply, message: ScriptedMessage, stream: boolean): Delivery {
  const { fault, ...plain } = reply;
  if (fault !== undefined && 'maxTokensAfter' in fault) {
    const { block, chars } = fault.maxTokensAfter;
    if (block >= message.blocks.length)
      return refuseTooFar(`maxTokensAfter block ${block}`, message.blocks.length, 'block');
    return deliverReply(plain, truncateMessage(message, block, chars), stream);
  }
  if (stream) return deliverEvents(reply, listEvents(message, Math.max(1, reply.deltaChars ?? 200)));
  if (fault !== undefined && !('cutAtByte' in fault)) {
    return { kind: 'broken', why: `scripted model: fault ${Object.keys(fault)[0]} needs a request with stream: true` };
  }
  const waitMs = message.blocks.reduce((sum, { silent }) => sum + (silent?.ms ?? 0), 0);
  return applyByteFaults(reply, addHold(reply, [{ text: toJson(message), waitMs }], 0));
}

function deliverEvents(reply: Reply, events: readonly Piece[]): Delivery {
  const { sent, ending } = endEarly(reply.fault, events.length);
  if (sent > events.length) return refuseTooFar(`fault after event ${sent}`, events.length, 'event');
  const holdAt = reply.holdAfterEvent ?? 1;
  if (reply.hold !== undefined && holdAt > sent) return refuseTooFar(`holdAfterEvent ${holdAt}`, sent, 'event');
  return applyByteFaults(reply, [...addHold(reply, events.slice(0, sent), holdAt), ...ending]);
}

/**
 * Adds the pauses, and the hold after the first `holdAt` pieces. Without either the pieces are one
 * write.
 */
function addHold(reply: Reply, pieces: readonly Piece[], holdAt: number): readonly Action[] {
  if (reply.hold === undefined) return addPauses(reply, pieces);
  const hold: Action = { do: 'hold', until: reply.hold };
  return [...addPauses(reply, pieces.slice(0, holdAt)), hold, ...addPauses(reply, pieces.slice(holdAt))];
}

/** Joins pieces without a wait between them into one write. */
function addPauses({ msPerEvent }: Reply, pieces: readonly Piece[]): readonly Action[] {
  const actions: Action[] = [];
  let text = '';
  const flush = (): void => {
    if (text !== '') actions.push(writeText(text));
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

/** Applies faults and chunks that count bytes. */
function applyByteFaults(reply: Reply, actions: readonly Action[]): Delivery {
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
    found.push(...splitChunks(bytes, chunkBytes));
    if (bytes.length < action.bytes.length) return { kind: 'body', actions: [...found, { do: 'cut' }] };
  }
  if (cut === Infinity) return { kind: 'body', actions: found };
  return cut === sent
    ? { kind: 'body', actions: [...found, { do: 'cut' }] }
    : refuseTooFar(`cutAtByte ${cut}`, sent, 'byte');
}

function splitChunks(bytes: Buffer, size: number | undefined): readonly Action[] {
  if (bytes.length === 0) return [];
  if (size === undefined || bytes.length <= size) return [{ do: 'write', bytes }];
  const pieces: Action[] = [];
  for (let at = 0; at < bytes.length; at += size) {
    pieces.push({ do: 'write', bytes: bytes.subarray(at, at + size) }, { do: 'pause', ms: 0 });
  }
  return pieces;
}

function refuseTooFar(what: string, have: number, unit: string): Delivery {
  return { kind: 'broken', why: `scripted model: ${what}, but the reply has ${have} ${unit}${have === 1 ? '' : 's'}` };
}

/** An answer other than the message. `silence`: not even headers. */
type FaultAnswer =
  { readonly kind: 'error'; readonly error: ApiError } | { readonly kind: 'hang_up' } | { readonly kind: 'silence' };

const BROKEN_JSON =
  'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_del\n\n';

/**
 * The effect of each fault: it answers something else instead of the message, or ends its stream
 * early. Returns the answer of a fault that replaces the message, whatever the reply's content;
 * undefined for a fault that needs the message.
 */
export function answerByFault(fault: Fault | undefined): FaultAnswer | undefined {
  if (fault === undefined) return undefined;
  if ('status' in fault) return { kind: 'error', error: buildStatusError(fault) };
  if ('too_long' in fault) {
    return { kind: 'error', error: buildInvalidRequest('prompt is too long: 213047 tokens > 200000 maximum') };
  }
  if ('media_too_large' in fault) {
    const path = 'messages.0.content.1.image.source.base64';
    const error = buildInvalidRequest(`${path}: image exceeds 5 MB maximum: 9427836 bytes > 5242880 bytes`);
    return { kind: 'error', error };
  }
  if ('hangUp' in fault) return { kind: 'hang_up' };
  if ('silence' in fault) return { kind: 'silence' };
  return undefined;
}

function buildStatusError(fault: Extract<Fault, { status: number }>): ApiError {
  return {
    ...buildApiError(fault.status, fault.message),
    ...(fault.errorCode === undefined ? {} : { details: { error_code: fault.errorCode } }),
    ...present({ retryAfter: fault.retryAfter, shouldRetry: fault.xShouldRetry }),
  };
}

/**
 * Returns the number of a stream's events that are sent under this fault, and the actions after
 * them.
 */
function endEarly(fault: Fault | undefined, total: number): { sent: number; ending: readonly Action[] } {
  if (fault === undefined) return { sent: total, ending: [] };
  if ('cutAfterEvent' in fault) return { sent: fault.cutAfterEvent, ending: [{ do: 'cut' }] };
  if ('silenceAfterEvent' in fault) return { sent: fault.silenceAfterEvent, ending: [{ do: 'silence' }] };
  if ('pingsAfterEvent' in fault) {
    return { sent: fault.pingsAfterEvent, ending: [{ do: 'pings', everyMs: fault.pingMs ?? 1_000 }] };
  }
  if ('garbageAfterEvent' in fault) {
    return { sent: fault.garbageAfterEvent, ending: [writeText(fault.garbage ?? BROKEN_JSON)] };
  }
  if ('withoutMessageStop' in fault) return { sent: total - 1, ending: [] };
  if ('errorEvent' in fault) {
    const message = fault.message ?? (fault.errorEvent === 'overloaded_error' ? 'Overloaded' : 'Internal server error');
    const error = formatEvent('error', buildErrorData(fault.errorEvent, message));
    return { sent: fault.afterEvent ?? 1, ending: [writeText(error)] };
  }
  return { sent: total, ending: [] };
}
