// Builds a reply as the Messages API says it: ids, signatures, stop reason and usage filled in, cut
// where a fault cuts it.
import { randomUUID } from 'node:crypto';
import type { CacheUse } from '../prompt-cache.ts';
import { bytesToTokens } from '../prompt-blocks.ts';
import type { Reply, ReplyBlock } from '../script.ts';
import type { Signer } from '../thinking/bindings.ts';
import type { Transformation } from '../thinking/check-thinking.ts';
import { present } from '../../workflows/contract/present.ts';

/** `streamed` arrives in deltas; `start` and `whole` are the block before and after them. */
export type MessageBlock = {
  readonly start: Readonly<Record<string, unknown>>;
  readonly delta: 'text_delta' | 'thinking_delta' | 'input_json_delta' | null;
  readonly streamed: string;
  readonly signature?: string;
  readonly whole: Readonly<Record<string, unknown>>;
  /** Bytes that it costs, where these differ from the streamed ones. */
  readonly size?: number;
  /**
   * Tokens that its deltas report so far; null: they report that the count is unknown; absent:
   * nothing.
   */
  readonly estimate?: number | null;
  /** Only pings are sent before its first delta, for this long. */
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
  /** The changes to thinking that was sent back; absent: not asked for. */
  readonly transformations?: readonly Transformation[];
  /** The same changes for the model that a reply was handed over to. */
  readonly finalTransformations?: readonly Transformation[];
  /** The usage that is sent; null sends none. */
  readonly usage: Readonly<Record<string, unknown>> | null;
};

/** Builds the message. `blocks` are those of the reply's content. */
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
    ...present({ stopDetails: reply.stop_details }),
    usage: reply.usage === null ? null : { ...computeUsage(blocks, cache), ...reply.usage },
  };
}

/** Cuts the message after `chars` characters of the stream of block `index`, by max_tokens. */
export function truncateMessage(message: ScriptedMessage, index: number, chars: number): ScriptedMessage {
  const cut = message.blocks
    .slice(0, index + 1)
    .map((block, at) => (at === index ? truncateBlock(block, chars) : block));
  const usage = message.usage === null ? null : { ...message.usage, output_tokens: countOutputTokens(cut) };
  return { ...message, blocks: cut, stopReason: 'max_tokens', usage };
}

export function toJson(message: ScriptedMessage): string {
  const { head, blocks, stopReason, stopDetails, usage } = message;
  const transformations = message.finalTransformations ?? message.transformations;
  return JSON.stringify({
    ...head,
    content: blocks.map((block) => block.whole),
    stop_reason: stopReason,
    stop_sequence: null,
    ...present({ stop_details: stopDetails }),
    ...(usage === null ? {} : { usage }),
    ...present({ input_transformations: transformations }),
  });
}

/** Builds the blocks of a reply, thinking as far as it is shown. */
export function buildBlocks(content: readonly ReplyBlock[], sign: Signer, showing: Showing): readonly MessageBlock[] {
  return content.flatMap((block) => (isSearchBlock(block) ? buildSearch(block) : buildBlock(block, sign, showing)));
}

type SearchBlock = Extract<ReplyBlock, { type: 'web_search' | 'web_search_result' }>;

function isSearchBlock(block: ReplyBlock): block is SearchBlock {
  return block.type === 'web_search' || block.type === 'web_search_result';
}

/**
 * Builds a search and its result. The text of pages is only encoded in base64, where the API
 * encrypts it, and is not checked when it is sent back.
 */
function buildSearch(block: SearchBlock): readonly MessageBlock[] {
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
  const found = isOpen ? [] : [buildWholeBlock({ type: 'web_search_tool_result', tool_use_id: id, content })];
  return block.type === 'web_search' ? [buildSearchCall(id, block.query), ...found] : found;
}

function buildSearchCall(id: string, query: string): MessageBlock {
  const start = { type: 'server_tool_use', id, name: 'web_search', input: {} };
  const whole = { ...start, input: { query } };
  return { start, delta: 'input_json_delta', streamed: JSON.stringify({ query }), whole };
}

/** Counts the searches that are billed: failed ones cost nothing. */
function countSearches(blocks: readonly MessageBlock[]): number {
  return blocks.filter(({ whole }) => whole['type'] === 'web_search_tool_result' && Array.isArray(whole['content']))
    .length;
}

function buildBlock(block: Exclude<ReplyBlock, SearchBlock>, sign: Signer, showing: Showing): MessageBlock {
  switch (block.type) {
    case 'text':
      return { start: { ...block, text: '' }, delta: 'text_delta', streamed: block.text, whole: block };
    case 'thinking':
      return buildThinkingBlock(block, sign, showing);
    case 'tool_use': {
      const start = { type: 'tool_use', id: block.id ?? newId('toolu'), name: block.name, input: {} };
      const streamed = block.inputJson ?? JSON.stringify(block.input ?? {});
      return { start, delta: 'input_json_delta', streamed, whole: { ...start, input: block.input ?? {} } };
    }
    case 'redacted_thinking':
      sign(block.data, block.data);
      return buildWholeBlock(block);
    case 'raw':
      return buildWholeBlock(block.block);
  }
}

/** Builds a block that is sent whole in its content_block_start. */
export function buildWholeBlock(block: Readonly<Record<string, unknown>>): MessageBlock {
  return { start: block, delta: null, streamed: '', whole: block };
}

/**
 * Builds a block of thinking. Hidden thinking is an empty text with a signature, and costs as much
 * as its length all the same.
 */
function buildThinkingBlock(
  block: Extract<ReplyBlock, { type: 'thinking' }>,
  sign: Signer,
  showing: Showing,
): MessageBlock {
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

/**
 * Cuts a block. Cut thinking has no signature, a cut call no whole input: a client may not send
 * them back.
 */
function truncateBlock(block: MessageBlock, chars: number): MessageBlock {
  const streamed = block.streamed.slice(0, chars);
  if (streamed.length === block.streamed.length) return block;
  const { start, delta } = block;
  if (delta === 'text_delta') return { start, delta, streamed, whole: { ...start, text: streamed } };
  if (delta === 'thinking_delta') return { start, delta, streamed, whole: { ...start, thinking: streamed } };
  return { start, delta, streamed, whole: start };
}

export function computeUsage(blocks: readonly MessageBlock[], cache: CacheUse): Record<string, unknown> {
  const found = countSearches(blocks);
  return {
    input_tokens: cache.rest,
    cache_creation_input_tokens: cache.written['5m'] + cache.written['1h'],
    cache_read_input_tokens: cache.read,
    cache_creation: {
      ephemeral_5m_input_tokens: cache.written['5m'],
      ephemeral_1h_input_tokens: cache.written['1h'],
    },
    output_tokens: countOutputTokens(blocks),
    output_tokens_details: { thinking_tokens: countThinkingTokens(blocks) },
    service_tier: 'standard',
    ...(found > 0 && { server_tool_use: { web_search_requests: found, web_fetch_requests: 0 } }),
  };
}

function countOutputTokens(blocks: readonly MessageBlock[]): number {
  const bytes = blocks.map(({ size, streamed }) => size ?? Buffer.byteLength(streamed));
  return bytesToTokens(bytes.reduce((sum, each) => sum + each, 0)) + blocks.length;
}

function countThinkingTokens(blocks: readonly MessageBlock[]): number {
  return countOutputTokens(blocks.filter(({ whole }) => whole['type'] === 'thinking'));
}

export function newId(prefix: string): string {
  return `${prefix}_${randomUUID().replaceAll('-', '').slice(0, 24)}`;
}
