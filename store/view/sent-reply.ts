// Turns a stored reply into the blocks that are sent (L16, L39, L58, L59). Blocks go back as they
// came. One that the API would refuse is left out or mended here; the transcript keeps it as it
// came.
import type { ContentBlock, ContentBlockParam, Message, ToolUseBlockParam } from '@anthropic-ai/sdk/resources/messages';
import { chooseFreeId, type SentIds } from '../transcript/call-ids.ts';
import type { ReplyEntry } from '../log/entries.ts';
import { isBlank, replaceLoneSurrogates } from '../../system/text.ts';
import { keepKnownFields } from './known-blocks.ts';

/** Remembers the blocks of a reply, because entries never change. */
export type ReplyMemo = WeakMap<ReplyEntry, readonly SentBlock[]>;

type SentBlock = { readonly index: number; readonly block: ContentBlockParam };

export type SentReply = {
  readonly blocks: readonly ContentBlockParam[];
  /**
   * The calls among the blocks, in order: the block's position in the reply, and the id it is sent
   * under.
   */
  readonly calls: readonly { readonly index: number; readonly id: string }[];
};

/**
 * Prepares a reply for a request. `used` holds the ids of calls sent before, and this reply's are
 * added: ids may repeat from reply to reply, but a request may not hold one twice.
 */
export function prepareReply(
  reply: ReplyEntry,
  used: Pick<SentIds, 'size' | 'has' | 'add'>,
  memo?: ReplyMemo,
  { withThinking = true, across = NONE }: Sending = {},
): SentReply {
  const isAlone = across.size === 0;
  const sent = (isAlone ? memo?.get(reply) : undefined) ?? listSendableBlocks(reply, across);
  if (isAlone) memo?.set(reply, sent);
  const calls: { index: number; id: string }[] = [];
  const chosen = withThinking ? sent : sent.filter(({ block }) => !isThinking(block));
  const blocks = chosen.map(({ index, block }) => {
    if (block.type !== 'tool_use') return block;
    const id = chooseFreeId(reply.ids?.[index] ?? block.id, index, used);
    used.add(id);
    calls.push({ index, id });
    return id === block.id ? block : { ...block, id };
  });
  return { blocks, calls };
}

/** `across`: calls of the API's own that this reply shares with a neighbouring one. */
type Sending = { readonly withThinking?: boolean; readonly across?: ReadonlySet<string> };

const NONE: ReadonlySet<string> = new Set();

/**
 * Lists the calls of the API's own that stand open among calls of ours. The API carries them out
 * when it has the results of ours, and answers both.
 */
export function listOpenServerCalls({ message: { content, stop_reason } }: ReplyEntry): readonly string[] {
  if (stop_reason !== 'tool_use') return [];
  const closed = new Set(listAnsweredServerCalls(content));
  return content.flatMap((block) => (block.type === 'server_tool_use' && !closed.has(block.id) ? [block.id] : []));
}

export function listAnsweredServerCalls(content: readonly ContentBlock[]): readonly string[] {
  return content.flatMap((block) =>
    block.type.endsWith('_tool_result') && 'tool_use_id' in block ? [block.tool_use_id] : [],
  );
}

/**
 * Tells whether a reply comes from `model`. An alias is asked for and answers under its dated name;
 * `asked` says so, where it was recorded.
 */
export function isFrom({ asked: requested, message }: ReplyEntry, model: string): boolean {
  return requested === model || message.model === model || message.model.replace(/-\d{8}$/, '') === model;
}

function listSendableBlocks({ message }: ReplyEntry, across: ReadonlySet<string>): readonly SentBlock[] {
  const { content } = message;
  const first = new Map<string, number>();
  for (const [index, block] of content.entries()) {
    if (block.type === 'tool_use' && !first.has(block.id)) first.set(block.id, index);
  }
  const known = content.flatMap((block, index): SentBlock[] => {
    if (block.type === 'tool_use' && first.get(block.id) !== index) return [];
    const mended = mendBlock(block);
    return mended ? [{ index, block: mended }] : [];
  });
  const sent = withWholeServerCalls(known, across);
  return sent.slice(0, sent.findLastIndex(({ block }) => !isThinking(block)) + 1);
}

/**
 * Lists the blocks that make a paused reply go on: all of them, including a call that the API has
 * yet to carry out.
 */
export function listResumableBlocks({ content }: Pick<Message, 'content'>): readonly ContentBlockParam[] {
  return content.flatMap((block) => mendBlock(block) ?? []);
}

/**
 * Keeps a call that the API runs by itself together with its one result after it in the same reply:
 * the API refuses either alone.
 */
function withWholeServerCalls(sent: readonly SentBlock[], across: ReadonlySet<string>): readonly SentBlock[] {
  const calls = new Map<string, { readonly call: SentBlock; readonly result: string }>();
  const paired = new Set<SentBlock>();
  for (const each of sent) {
    const { block } = each;
    if (block.type === 'server_tool_use' && !calls.has(block.id)) {
      calls.set(block.id, { call: each, result: `${block.name.replace(/_tool_(?:regex|bm25)$/, '')}_tool_result` });
    } else if ('tool_use_id' in block) {
      const { call, result } = calls.get(block.tool_use_id) ?? {};
      if (call && result === block.type && !paired.has(call)) paired.add(call).add(each);
    }
  }
  const isServers = ({ block }: SentBlock): boolean => block.type === 'server_tool_use' || 'tool_use_id' in block;
  const isShared = ({ block }: SentBlock): boolean =>
    across.has('tool_use_id' in block ? block.tool_use_id : 'id' in block ? block.id : '');
  return sent.filter((each) => !isServers(each) || paired.has(each) || isShared(each));
}

/** Returns null for a block that cannot be sent. */
function mendBlock(block: ContentBlock): ContentBlockParam | null {
  const known = keepKnownFields(block);
  if (known === null) return null;
  const whole = replaceLoneSurrogates(known);
  switch (whole.type) {
    case 'text':
      return isBlank(whole.text) ? null : whole;
    case 'tool_use':
      return withSendableCall(whole);
    case 'thinking':
    case 'redacted_thinking':
      // The signature covers the block as it came: changed, it would be refused.
      return whole === known ? whole : null;
    default:
      return whole;
  }
}

/**
 * Mends a name or an input that the API would refuse. It comes only from a broken model or proxy,
 * and the call's outcome says that it was not a call.
 */
function withSendableCall(block: ToolUseBlockParam): ContentBlockParam {
  const name = /^[a-zA-Z0-9_-]{1,128}$/.test(block.name)
    ? block.name
    : block.name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, 128) || 'unnamed';
  const isObject = typeof block.input === 'object' && block.input !== null && !Array.isArray(block.input);
  if (name === block.name && isObject) return block;
  return { ...block, name, input: isObject ? block.input : { value: block.input ?? null } };
}

export function isThinking({ type }: { readonly type: string }): boolean {
  return type === 'thinking' || type === 'redacted_thinking';
}
