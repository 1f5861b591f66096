// Whether an event of the stream has what the accumulator takes from it. A proxy may send any JSON under a known name: such a stream
// is broken, and its attempt died (L14), rather than a defect that is retried for ever.
import type { RawMessageStreamEvent } from '@anthropic-ai/sdk/resources/messages';

type Fields = Readonly<Record<string, unknown>>;

/** Texts that a block or a delta must have, by its type. Of types we do not know nothing is asked. */
const BLOCK_TEXTS: Readonly<Record<string, readonly string[]>> = {
  text: ['text'],
  thinking: ['thinking'],
  tool_use: ['id', 'name'],
};
const DELTA_TEXTS: Readonly<Record<string, readonly string[]>> = {
  text_delta: ['text'],
  thinking_delta: ['thinking'],
  signature_delta: ['signature'],
  input_json_delta: ['partial_json'],
};

/** What is missing, or undefined. */
export function eventProblem(event: RawMessageStreamEvent): string | undefined {
  const untrusted: unknown = event;
  if (!isObject(untrusted)) return 'an event that is no object';
  if (typeof untrusted['type'] !== 'string') return 'an event without a type';
  if (event.type.startsWith('content_block_') && !Number.isSafeInteger(untrusted['index'])) {
    return `a ${event.type} without an index`;
  }
  if (event.type === 'message_start') return lacks(untrusted['message'], 'message_start', ['model']);
  if (event.type === 'content_block_start') return typed(untrusted['content_block'], event.type, BLOCK_TEXTS);
  if (event.type === 'content_block_delta') return typed(untrusted['delta'], event.type, DELTA_TEXTS);
  return undefined;
}

function typed(value: unknown, where: string, texts: typeof BLOCK_TEXTS): string | undefined {
  const type = isObject(value) ? value['type'] : undefined;
  if (typeof type !== 'string') return `a ${where} without a type`;
  return lacks(value, type, Object.hasOwn(texts, type) ? (texts[type] ?? []) : []);
}

function lacks(value: unknown, where: string, texts: readonly string[]): string | undefined {
  const missing = texts.find((key) => !isObject(value) || typeof value[key] !== 'string');
  return missing === undefined ? undefined : `a ${where} without ${missing}`;
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null;
}
