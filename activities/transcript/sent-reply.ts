// What is sent of a stored reply (L16, L39, L58, L59). Blocks go back as they came; what the API would refuse is left out or mended.
import type { ContentBlock, ContentBlockParam, TextBlock, ToolUseBlock } from '@anthropic-ai/sdk/resources/messages';
import type { ReplyEntry } from './entries.ts';
import { isBlank, wellFormed } from './well-formed.ts';

/** Remembers what was worked out for a reply: entries never change. */
export type ReplyMemo = WeakMap<ReplyEntry, readonly SentBlock[]>;

type SentBlock = { readonly index: number; readonly block: ContentBlockParam };

export type SentReply = {
  readonly blocks: readonly ContentBlockParam[];
  /** The calls among them, in order: the block's position in the reply, and the id it is sent under. */
  readonly calls: readonly { readonly index: number; readonly id: string }[];
};

/**
 * `taken`: ids of calls sent before; those of this reply are added. Ids may repeat from reply to reply, a request may not hold one twice.
 * `model`: the one that is called; thinking that another signed is left out.
 */
export function sentReply(reply: ReplyEntry, taken: Set<string>, memo?: ReplyMemo, model?: string): SentReply {
  const sent = memo?.get(reply) ?? sendable(reply);
  memo?.set(reply, sent);
  const foreign = model !== undefined && !isFrom(reply, model);
  const calls: { index: number; id: string }[] = [];
  const own = foreign ? sent.filter(({ block }) => !isThinking(block)) : sent;
  const blocks = own.map(({ index, block }) => {
    if (block.type !== 'tool_use') return block;
    const id = freeId(block.id, index, taken);
    taken.add(id);
    calls.push({ index, id });
    return id === block.id ? block : { ...block, id };
  });
  return { blocks, calls };
}

/** An alias is asked for and answers under its dated name: `asked` says so, where it was recorded. */
function isFrom({ asked, message }: ReplyEntry, model: string): boolean {
  return asked === model || message.model === model || message.model.replace(/-\d{8}$/, '') === model;
}

function sendable({ message, fate }: ReplyEntry): readonly SentBlock[] {
  const { content } = message;
  const first = new Map<string, number>();
  for (const [index, block] of content.entries()) {
    if (block.type === 'tool_use' && !first.has(block.id)) first.set(block.id, index);
  }
  const sent = content.flatMap((block, index): SentBlock[] => {
    if (block.type === 'tool_use' && first.get(block.id) !== index) return [];
    if (fate !== 'whole' && unfinished(block, content)) return [];
    const kept = mended(block);
    return kept ? [{ index, block: kept }] : [];
  });
  return sent.slice(0, sent.findLastIndex(({ block }) => !isThinking(block)) + 1);
}

/** Of a reply that was cut short: a block that has no use without what did not come. */
function unfinished(block: ContentBlock, content: readonly ContentBlock[]): boolean {
  if (block.type === 'thinking') return block.signature === '';
  if (block.type !== 'server_tool_use') return false;
  return !content.some((other) => 'tool_use_id' in other && other.tool_use_id === block.id);
}

/** Null for a block that cannot be sent. Unknown kinds pass as they are. */
function mended(block: ContentBlock): ContentBlockParam | null {
  const whole = wellFormed(block);
  switch (whole.type) {
    case 'text':
      return isBlank(whole.text) ? null : withoutFileIds(whole);
    case 'tool_use':
      return withSendableCall(whole);
    case 'thinking':
      // Its signature is of the text as it came: changed, it would be refused.
      return whole === block ? whole : null;
    default:
      return whole;
  }
}

/** `file_id` is the one field of a reply's blocks that a request may not have. */
function withoutFileIds(block: TextBlock): ContentBlockParam {
  if (!block.citations?.some((citation) => 'file_id' in citation)) return block;
  const citations = block.citations.map((citation) => {
    const { file_id: _, ...rest } = citation as typeof citation & { file_id?: unknown };
    return rest;
  });
  return { ...block, citations };
}

/** A name or an input that the API would refuse comes only from a broken model or proxy; its outcome says that it was no call. */
function withSendableCall(block: ToolUseBlock): ContentBlockParam {
  const name = /^[a-zA-Z0-9_-]{1,128}$/.test(block.name)
    ? block.name
    : block.name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, 128) || 'unnamed';
  const isObject = typeof block.input === 'object' && block.input !== null && !Array.isArray(block.input);
  if (name === block.name && isObject) return block;
  return { ...block, name, input: isObject ? block.input : { value: block.input ?? null } };
}

function isThinking(block: ContentBlockParam): boolean {
  return block.type === 'thinking' || block.type === 'redacted_thinking';
}

function freeId(id: string, index: number, taken: ReadonlySet<string>): string {
  if (/^[a-zA-Z0-9_-]+$/.test(id) && !taken.has(id)) return id;
  // How many were sent before is the same whenever this reply is projected, so its new name is too.
  for (let n = taken.size; ; n += 1) {
    const other = `call_${n}_${index}`;
    if (!taken.has(other)) return other;
  }
}
