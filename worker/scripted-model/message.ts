// A reply as the Messages API says it: ids, signatures, stop reason and usage filled in, cut where a fault cuts it.
import { randomUUID } from 'node:crypto';
import { bytesToTokens, type CacheUse } from './prompt-cache.ts';
import type { ParsedRequest, Reply, ReplyBlock } from './script.ts';
import type { Signer } from './thinking/bindings.ts';
import type { Transformation } from './thinking/check-thinking.ts';

/** `streamed`: what arrives in deltas; `start` and `whole` are the block before and after them. */
export type MessageBlock = {
  readonly start: Readonly<Record<string, unknown>>;
  readonly delta: 'text_delta' | 'thinking_delta' | 'input_json_delta' | null;
  readonly streamed: string;
  readonly signature?: string;
  readonly whole: Readonly<Record<string, unknown>>;
};

type MessageHead = {
  readonly id: string;
  readonly type: 'message';
  readonly role: 'assistant';
  readonly model: string;
};

export type ScriptedMessage = {
  readonly head: MessageHead;
  readonly blocks: readonly MessageBlock[];
  readonly stopReason: string | null;
  readonly stopDetails?: Readonly<Record<string, unknown>>;
  /** What became of thinking that was sent back; absent: not asked for. */
  readonly transformations?: readonly Transformation[];
  /** Null: no usage is sent. */
  readonly usage: Readonly<Record<string, unknown>> | null;
};

export function buildMessage(
  reply: Reply,
  request: ParsedRequest,
  cache: CacheUse,
  sign: Signer,
  transformations?: readonly Transformation[],
): ScriptedMessage {
  const blocks = (reply.content ?? []).map((block) => messageBlock(block, sign));
  const calls = blocks.some((block) => block.whole['type'] === 'tool_use');
  return {
    head: { id: id('msg'), type: 'message', role: 'assistant', model: reply.model ?? request.model },
    blocks,
    stopReason: reply.stop_reason === undefined ? (calls ? 'tool_use' : 'end_turn') : reply.stop_reason,
    ...(reply.stop_details === undefined ? {} : { stopDetails: reply.stop_details }),
    ...(transformations === undefined ? {} : { transformations }),
    usage: reply.usage === null ? null : { ...computedUsage(blocks, cache), ...reply.usage },
  };
}

/** The message cut after `chars` characters of what block `index` streams, by max_tokens. */
export function cutMessage(message: ScriptedMessage, index: number, chars: number): ScriptedMessage {
  const cut = message.blocks.slice(0, index + 1).map((block, at) => (at === index ? cutBlock(block, chars) : block));
  const usage = message.usage === null ? null : { ...message.usage, output_tokens: outputTokens(cut) };
  return { ...message, blocks: cut, stopReason: 'max_tokens', usage };
}

export function messageJson(message: ScriptedMessage): string {
  const { head, blocks, stopReason, stopDetails, transformations, usage } = message;
  return JSON.stringify({
    ...head,
    content: blocks.map((block) => block.whole),
    stop_reason: stopReason,
    stop_sequence: null,
    ...(stopDetails === undefined ? {} : { stop_details: stopDetails }),
    ...(usage === null ? {} : { usage }),
    ...(transformations === undefined ? {} : { input_transformations: transformations }),
  });
}

function messageBlock(block: ReplyBlock, sign: Signer): MessageBlock {
  switch (block.type) {
    case 'text':
      return { start: { ...block, text: '' }, delta: 'text_delta', streamed: block.text, whole: block };
    case 'thinking': {
      const signature = sign(block.thinking, block.signature);
      const whole = { type: 'thinking', thinking: block.thinking, signature };
      const start = { ...whole, thinking: '', signature: '' };
      return { start, delta: 'thinking_delta', streamed: block.thinking, signature, whole };
    }
    case 'tool_use': {
      const start = { type: 'tool_use', id: block.id ?? id('toolu'), name: block.name, input: {} };
      const streamed = block.inputJson ?? JSON.stringify(block.input ?? {});
      return { start, delta: 'input_json_delta', streamed, whole: { ...start, input: block.input ?? {} } };
    }
    case 'redacted_thinking':
      sign(block.data, block.data);
      return { start: block, delta: null, streamed: '', whole: block };
    case 'raw':
      return { start: block.block, delta: null, streamed: '', whole: block.block };
  }
}

/** Cut thinking has no signature, a cut call no whole input: what a client may not send back. */
function cutBlock(block: MessageBlock, chars: number): MessageBlock {
  const streamed = block.streamed.slice(0, chars);
  if (streamed.length === block.streamed.length) return block;
  const { start, delta } = block;
  if (delta === 'text_delta') return { start, delta, streamed, whole: { ...start, text: streamed } };
  if (delta === 'thinking_delta') return { start, delta, streamed, whole: { ...start, thinking: streamed } };
  return { start, delta, streamed, whole: start };
}

export function computedUsage(blocks: readonly MessageBlock[], cache: CacheUse): Record<string, unknown> {
  return {
    input_tokens: cache.rest,
    cache_creation_input_tokens: cache.written,
    cache_read_input_tokens: cache.read,
    cache_creation: {
      ephemeral_5m_input_tokens: cache.writtenFor === '5m' ? cache.written : 0,
      ephemeral_1h_input_tokens: cache.writtenFor === '1h' ? cache.written : 0,
    },
    output_tokens: outputTokens(blocks),
    service_tier: 'standard',
  };
}

function outputTokens(blocks: readonly MessageBlock[]): number {
  return bytesToTokens(blocks.reduce((sum, block) => sum + Buffer.byteLength(block.streamed), 0)) + blocks.length;
}

function id(prefix: string): string {
  return `${prefix}_${randomUUID().replaceAll('-', '').slice(0, 24)}`;
}
