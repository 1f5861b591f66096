// A reply as the Messages API says it: ids, signatures, stop reason and usage filled in, cut where
// a fault cuts it.
import { randomUUID } from 'node:crypto';
import { bytesToTokens, type CacheUse } from '../prompt-cache.ts';
import type { Reply, ReplyBlock } from '../script.ts';
import type { Signer } from '../thinking/bindings.ts';
import type { Transformation } from '../thinking/check-thinking.ts';

/** `streamed`: what arrives in deltas; `start` and `whole` are the block before and after them. */
export type MessageBlock = {
  readonly start: Readonly<Record<string, unknown>>;
  readonly delta: 'text_delta' | 'thinking_delta' | 'input_json_delta' | null;
  readonly streamed: string;
  readonly signature?: string;
  readonly whole: Readonly<Record<string, unknown>>;
  /** Bytes that it costs, where these are not those that are streamed. */
  readonly size?: number;
  /**
   * Tokens that its deltas say it has so far; null: they say that they do not know; absent:
   * nothing.
   */
  readonly estimate?: number | null;
  /** Nothing but pings before its first delta, for so long. */
  readonly silent?: { readonly ms: number; readonly pingMs: number };
};

/** How much of a model's thinking is shown; `counted`: deltas estimate its tokens. */
export type Showing = { readonly display: 'summarized' | 'omitted' | 'updates'; readonly counted: boolean };

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
  /** The same of the model that a reply was handed over to. */
  readonly finalTransformations?: readonly Transformation[];
  /** Null: no usage is sent. */
  readonly usage: Readonly<Record<string, unknown>> | null;
};

/** `blocks`: of the reply's content. */
export function buildMessage(
  reply: Reply,
  model: string,
  blocks: readonly MessageBlock[],
  cache: CacheUse,
): ScriptedMessage {
  const calls = blocks.some((block) => block.whole['type'] === 'tool_use');
  return {
    head: { id: newId('msg'), type: 'message', role: 'assistant', model: reply.model ?? model },
    blocks,
    stopReason: reply.stop_reason === undefined ? (calls ? 'tool_use' : 'end_turn') : reply.stop_reason,
    ...(reply.stop_details === undefined ? {} : { stopDetails: reply.stop_details }),
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
  const { head, blocks, stopReason, stopDetails, usage } = message;
  const transformations = message.finalTransformations ?? message.transformations;
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

/** The blocks of a reply, thinking as far as it is shown. */
export function messageBlocks(content: readonly ReplyBlock[], sign: Signer, showing: Showing): readonly MessageBlock[] {
  return content.flatMap((block) => (isOfSearch(block) ? searchBlocks(block) : messageBlock(block, sign, showing)));
}

type OfSearch = Extract<ReplyBlock, { type: 'web_search' | 'web_search_result' }>;

function isOfSearch(block: ReplyBlock): block is OfSearch {
  return block.type === 'web_search' || block.type === 'web_search_result';
}

/** Pages have their text sealed: whoever sends it back changed would be found out. */
function searchBlocks(block: OfSearch): readonly MessageBlock[] {
  const { results, error } = block;
  const id = block.id ?? newId('srvtoolu');
  const pages = results?.map(({ url, title, text = '' }) => ({
    type: 'web_search_result',
    url,
    title,
    encrypted_content: Buffer.from(`${url} ${text}`).toString('base64'),
    page_age: null,
  }));
  const content = pages ?? { type: 'web_search_tool_result_error', error_code: error };
  const isOpen = results === undefined && error === undefined;
  const found = isOpen ? [] : [wholeBlock({ type: 'web_search_tool_result', tool_use_id: id, content })];
  return block.type === 'web_search' ? [searchCall(id, block.query), ...found] : found;
}

function searchCall(id: string, query: string): MessageBlock {
  const start = { type: 'server_tool_use', id, name: 'web_search', input: {} };
  const whole = { ...start, input: { query } };
  return { start, delta: 'input_json_delta', streamed: JSON.stringify({ query }), whole };
}

/** Those that failed cost nothing. */
function searchesIn(blocks: readonly MessageBlock[]): number {
  return blocks.filter(({ whole }) => whole['type'] === 'web_search_tool_result' && Array.isArray(whole['content']))
    .length;
}

function messageBlock(block: Exclude<ReplyBlock, OfSearch>, sign: Signer, showing: Showing): MessageBlock {
  switch (block.type) {
    case 'text':
      return { start: { ...block, text: '' }, delta: 'text_delta', streamed: block.text, whole: block };
    case 'thinking':
      return thinkingBlock(block, sign, showing);
    case 'tool_use': {
      const start = { type: 'tool_use', id: block.id ?? newId('toolu'), name: block.name, input: {} };
      const streamed = block.inputJson ?? JSON.stringify(block.input ?? {});
      return { start, delta: 'input_json_delta', streamed, whole: { ...start, input: block.input ?? {} } };
    }
    case 'redacted_thinking':
      sign(block.data, block.data);
      return wholeBlock(block);
    case 'raw':
      return wholeBlock(block.block);
  }
}

/** Sent whole in its content_block_start. */
export function wholeBlock(block: Readonly<Record<string, unknown>>): MessageBlock {
  return { start: block, delta: null, streamed: '', whole: block };
}

/**
 * Thinking that is not shown is an empty text with a signature, and costs what it is long all the
 * same.
 */
function thinkingBlock(block: Extract<ReplyBlock, { type: 'thinking' }>, sign: Signer, showing: Showing): MessageBlock {
  const { display, counted } = showing;
  const isShown = display === 'summarized' || (display === 'updates' && block.note === true);
  const streamed = isShown ? block.thinking : '';
  const size = Buffer.byteLength(block.thinking);
  const signature = sign(streamed, block.signature, size);
  const whole = { type: 'thinking', thinking: streamed, signature };
  return {
    start: { ...whole, thinking: '', signature: '' },
    delta: 'thinking_delta',
    streamed,
    signature,
    whole,
    size,
    ...(counted ? { estimate: isShown ? null : Math.ceil(bytesToTokens(size) / ESTIMATED_BY) * ESTIMATED_BY } : {}),
    ...(block.silentMs === undefined ? {} : { silent: { ms: block.silentMs, pingMs: block.pingMs ?? PING_MS } }),
  };
}

const ESTIMATED_BY = 50;
const PING_MS = 1_000;

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
  const found = searchesIn(blocks);
  return {
    input_tokens: cache.rest,
    cache_creation_input_tokens: cache.written['5m'] + cache.written['1h'],
    cache_read_input_tokens: cache.read,
    cache_creation: {
      ephemeral_5m_input_tokens: cache.written['5m'],
      ephemeral_1h_input_tokens: cache.written['1h'],
    },
    output_tokens: outputTokens(blocks),
    output_tokens_details: { thinking_tokens: thinkingTokens(blocks) },
    service_tier: 'standard',
    ...(found > 0 && { server_tool_use: { web_search_requests: found, web_fetch_requests: 0 } }),
  };
}

function outputTokens(blocks: readonly MessageBlock[]): number {
  const bytes = blocks.map(({ size, streamed }) => size ?? Buffer.byteLength(streamed));
  return bytesToTokens(bytes.reduce((sum, each) => sum + each, 0)) + blocks.length;
}

function thinkingTokens(blocks: readonly MessageBlock[]): number {
  return outputTokens(blocks.filter(({ whole }) => whole['type'] === 'thinking'));
}

export function newId(prefix: string): string {
  return `${prefix}_${randomUUID().replaceAll('-', '').slice(0, 24)}`;
}
