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
  if (event.type === 'content_block_start') return blockProblem(untrusted['content_block']);
  if (event.type === 'content_block_delta') return deltaProblem(untrusted['delta']);
  if (event.type === 'message_delta') return changeProblem(untrusted['delta']);
  return undefined;
}

function blockProblem(block: unknown): string | undefined {
  const missing = typed(block, 'content_block_start', BLOCK_TEXTS);
  if (missing !== undefined || !isObject(block) || block['type'] !== 'text') return missing;
  const citations = block['citations'] ?? [];
  return Array.isArray(citations) && citations.every(isObject)
    ? undefined
    : 'a text whose citations are no list of them';
}

function deltaProblem(delta: unknown): string | undefined {
  const missing = typed(delta, 'content_block_delta', DELTA_TEXTS);
  if (missing !== undefined || !isObject(delta) || delta['type'] !== 'citations_delta') return missing;
  return isObject(delta['citation']) ? undefined : 'a citations_delta without a citation';
}

/** It overwrites what the message began with. */
function changeProblem(delta: unknown): string | undefined {
  return isObject(delta) && 'model' in delta ? lacks(delta, 'message_delta', ['model']) : undefined;
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
