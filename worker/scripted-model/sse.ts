// A message as the API streams it: server-sent events, each as the text that goes over the wire.
import type { MessageBlock, ScriptedMessage } from './message.ts';

export const PING = event('ping', { type: 'ping' });

export function event(name: string, data: object): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** All events of a message, in order. `deltaChars`: characters in each delta. */
export function sseEvents(message: ScriptedMessage, deltaChars: number): readonly string[] {
  const events = [event('message_start', { type: 'message_start', message: startOf(message) })];
  for (const [index, block] of message.blocks.entries()) {
    events.push(event('content_block_start', { type: 'content_block_start', index, content_block: block.start }));
    if (index === 0) events.push(PING);
    for (const delta of deltas(block, deltaChars)) {
      events.push(event('content_block_delta', { type: 'content_block_delta', index, delta }));
    }
    events.push(event('content_block_stop', { type: 'content_block_stop', index }));
  }
  events.push(event('message_delta', endOf(message)), event('message_stop', { type: 'message_stop' }));
  return events;
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

function startUsage({ iterations: _iterations, ...usage }: Readonly<Record<string, unknown>>): object {
  return { ...usage, output_tokens: usage['output_tokens'] === 0 ? 0 : 1 };
}

function endOf({ stopReason, stopDetails, usage }: ScriptedMessage): object {
  const { input_tokens, cache_creation_input_tokens, cache_read_input_tokens, output_tokens, iterations } = usage ?? {};
  return {
    type: 'message_delta',
    delta: {
      stop_reason: stopReason,
      stop_sequence: null,
      ...(stopDetails === undefined ? {} : { stop_details: stopDetails }),
    },
    ...(usage === null
      ? {}
      : { usage: { input_tokens, cache_creation_input_tokens, cache_read_input_tokens, output_tokens, iterations } }),
  };
}

const FIELDS = { text_delta: 'text', thinking_delta: 'thinking', input_json_delta: 'partial_json' } as const;

function deltas(block: MessageBlock, size: number): readonly object[] {
  const { delta, streamed, signature } = block;
  if (delta === null) return [];
  const found: object[] = delta === 'input_json_delta' ? [{ type: delta, partial_json: '' }] : [];
  for (let at = 0; at < streamed.length;) {
    const end = wholeCharacters(streamed, at + size);
    found.push({ type: delta, [FIELDS[delta]]: streamed.slice(at, end) });
    at = end;
  }
  if (signature !== undefined) found.push({ type: 'signature_delta', signature });
  return found;
}

/** `end`, or one more, so that no delta ends between the halves of a surrogate pair. */
function wholeCharacters(text: string, end: number): number {
  const code = text.charCodeAt(end - 1);
  return code >= 0xd800 && code <= 0xdbff ? end + 1 : end;
}
