// Judges a finished message: whether it is a reply, a cut one, a refusal, or empty (L15).
import type { ContentBlock, Message } from '@anthropic-ai/sdk/resources/messages';
import type { BlockState } from './stream/accumulate.ts';
import { isThinking } from '../../store/view/sent-reply.ts';
import type { CallBlock } from '../calls/call-port.ts';

export type MessageVerdict =
  /**
   * Calls are the complete tool_use blocks, first of their id each (L39). `cut`: the last tool_use
   * was truncated and is dropped.
   */
  | { readonly kind: 'reply'; readonly message: Message; readonly calls: readonly CallBlock[]; readonly cut: boolean }
  /** max_tokens came without a complete call; `message` is the part to keep (L16). */
  | { readonly kind: 'cut_off'; readonly message: Message }
  /** `detail` may have any length. */
  | { readonly kind: 'refused'; readonly detail: string }
  | { readonly kind: 'window_exceeded' }
  | { readonly kind: 'empty' };

export function judgeMessage(message: Message, blocks: readonly BlockState[]): MessageVerdict {
  if (message.stop_reason === 'refusal') return { kind: 'refused', detail: describeRefusal(message) };
  if (message.stop_reason === 'model_context_window_exceeded') return { kind: 'window_exceeded' };
  const truncated = message.stop_reason === 'max_tokens' ? indexOfTruncatedCall(blocks) : -1;
  const calls = callBlocks(blocks.filter((_, index) => index !== truncated));
  if (message.stop_reason === 'max_tokens' && calls.length === 0) {
    return { kind: 'cut_off', message: withoutTail(message, truncated) };
  }
  if (calls.length === 0 && (message.stop_reason === 'tool_use' || saysNothing(message.content)))
    return { kind: 'empty' };
  const cut = truncated >= 0;
  return { kind: 'reply', message: cut ? withoutTail(message, truncated) : message, calls, cut };
}

/**
 * Returns the complete tool_use blocks in the model's order; of duplicate ids only the first
 * counts.
 */
export function callBlocks(blocks: readonly BlockState[]): readonly CallBlock[] {
  const ids = new Set<string>();
  return blocks.flatMap(({ block, complete }, index) => {
    if (block.type !== 'tool_use' || !complete || ids.has(block.id)) return [];
    ids.add(block.id);
    return [{ index, id: block.id, name: block.name, input: block.input }];
  });
}

/**
 * Keeps the complete blocks and partial text of an interrupted message, without open thinking or
 * tool_use (L16). Only the last block can be open, so no call changes its position.
 */
export function keepInterruptedPart(message: Message, blocks: readonly BlockState[]): Message | null {
  const usable = blocks.filter(({ block, complete }) => complete || block.type === 'text').map(({ block }) => block);
  const content = dropTrailingThinking(usable);
  return saysNothing(content) ? null : { ...message, content };
}

/** Returns the position of the last block when it is a tool_use that max_tokens cut, else -1. */
function indexOfTruncatedCall(blocks: readonly BlockState[]): number {
  const last = blocks.length - 1;
  const state = blocks[last];
  return state?.block.type === 'tool_use' && (state.brokenInput || !state.complete) ? last : -1;
}

function withoutTail(message: Message, truncated: number): Message {
  const content = truncated < 0 ? message.content : message.content.slice(0, truncated);
  return { ...message, content: dropTrailingThinking(content) };
}

function dropTrailingThinking(content: readonly ContentBlock[]): ContentBlock[] {
  const end = content.findLastIndex((block) => !isThinking(block)) + 1;
  return content.slice(0, end);
}

/** Tells whether the content lacks an answer; thinking alone does not count as one (L15). */
function saysNothing(content: readonly ContentBlock[]): boolean {
  return content.every((block) => isThinking(block) || (block.type === 'text' && block.text.trim() === ''));
}

/**
 * Describes a refusal with the API's reason (`stop_details`). The words that the model wrote before
 * it are void, and only people see them.
 */
function describeRefusal({ content, stop_details: why }: Message): string {
  const words = content
    .flatMap((block) => (block.type === 'text' ? [block.text] : []))
    .join(' ')
    .trim();
  const { category, explanation } = (why ?? {}) as { readonly category?: unknown; readonly explanation?: unknown };
  const named = typeof category === 'string' && category !== '' ? ` (${category.replaceAll('_', ' ')})` : '';
  const explained = [typeof explanation === 'string' ? explanation.trim() : '', words].filter((text) => text !== '');
  return `The model refused to answer${named}${explained.length === 0 ? '.' : `: ${explained.join(' It said: ')}`}`;
}
