// A message as the API streams it: server-sent events, each as the text that goes over the wire.
import type { MessageBlock, ScriptedMessage } from './message.ts';

export const PING = event('ping', { type: 'ping' });

export function event(name: string, data: object): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** What is sent at once, and how long it is waited before. */
export type Piece = { readonly text: string; readonly waitMs?: number };

/** All events of a message, in order. `deltaChars`: characters in each delta. */
export function sseEvents(message: ScriptedMessage, deltaChars: number): readonly Piece[] {
  const events: Piece[] = [piece('message_start', { message: startOf(message) })];
  for (const [index, block] of message.blocks.entries()) {
    events.push(piece('content_block_start', { index, content_block: block.start }));
    if (index === 0) events.push({ text: PING });
    const rest = [
      ...deltas(block, deltaChars).map((delta) => piece('content_block_delta', { index, delta })),
      piece('content_block_stop', { index }),
    ];
    events.push(...afterSilence(block, rest));
  }
  events.push(piece('message_delta', endOf(message)), piece('message_stop', {}));
  return events;
}

function piece(type: string, data: object): Piece {
  return { text: event(type, { type, ...data }) };
}

/** A model that thinks for long sends pings, and nothing else. */
function afterSilence({ silent }: MessageBlock, [first, ...rest]: readonly Piece[]): readonly Piece[] {
  if (silent === undefined || first === undefined) return first === undefined ? [] : [first, ...rest];
  const { ms, pingMs } = silent;
  const pings = Math.max(0, Math.ceil(ms / pingMs) - 1);
  const waits = Array.from({ length: pings }, (): Piece => ({ text: PING, waitMs: pingMs }));
  return [...waits, { ...first, waitMs: ms - pings * pingMs }, ...rest];
}

function startOf({ head, usage, transformations }: ScriptedMessage): object {
  return {
    ...head,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    ...(usage === null ? {} : { usage: startUsage(usage) }),
    ...(transformations === undefined ? {} : { input_transformations: transformations }),
  };
}

function startUsage({
  iterations: _iterations,
  server_tool_use: _used,
  ...usage
}: Readonly<Record<string, unknown>>): object {
  return { ...usage, output_tokens: usage['output_tokens'] === 0 ? 0 : 1 };
}

function endOf({ stopReason, stopDetails, usage, finalTransformations }: ScriptedMessage): object {
  const { input_tokens, cache_creation_input_tokens, cache_read_input_tokens, output_tokens, ...more } = usage ?? {};
  const { iterations, server_tool_use } = more;
  const counts = { input_tokens, cache_creation_input_tokens, cache_read_input_tokens, output_tokens };
  return {
    delta: {
      stop_reason: stopReason,
      stop_sequence: null,
      ...(stopDetails === undefined ? {} : { stop_details: stopDetails }),
    },
    ...(usage === null ? {} : { usage: { ...counts, iterations, server_tool_use } }),
    ...(finalTransformations === undefined ? {} : { input_transformations: finalTransformations }),
  };
}

const FIELDS = { text_delta: 'text', thinking_delta: 'thinking', input_json_delta: 'partial_json' } as const;

function deltas(block: MessageBlock, size: number): readonly object[] {
  const { delta, streamed, signature, estimate } = block;
  if (delta === null) return [];
  const found: object[] = delta === 'input_json_delta' ? [{ type: delta, partial_json: '' }] : [];
  for (let at = 0; at < streamed.length;) {
    const end = wholeCharacters(streamed, at + size);
    const counted = estimate === undefined ? {} : { estimated_tokens: estimate };
    found.push({ type: delta, [FIELDS[delta]]: streamed.slice(at, end), ...counted });
    at = end;
  }
  if (typeof estimate === 'number') found.push({ type: delta, thinking: '', estimated_tokens: estimate });
  if (signature !== undefined) found.push({ type: 'signature_delta', signature });
  return found;
}

/** `end`, or one more, so that no delta ends between the halves of a surrogate pair. */
function wholeCharacters(text: string, end: number): number {
  const code = text.charCodeAt(end - 1);
  return code >= 0xd800 && code <= 0xdbff ? end + 1 : end;
}
