// Turns a reply into the actions on the wire: pauses and holds, cuts and chunks that count bytes.
import { truncateMessage, toJson, type ScriptedMessage } from './message.ts';
import { writeText, type Action } from './playback.ts';
import type { Reply } from '../script.ts';
import { listEvents, type Piece } from './sse.ts';
import { endEarly } from './fault-answer.ts';

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
