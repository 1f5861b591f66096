// What is sent of a stored reply (L16, L39, L58, L59). Blocks go back as they came; what the API would
// refuse is left out or mended, and stays in the transcript as it came.
import type { ContentBlock, ContentBlockParam, ToolUseBlockParam } from '@anthropic-ai/sdk/resources/messages';
import type { ReplyEntry } from './entries.ts';
import { knownBlock } from './known-block.ts';
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

function sendable({ message }: ReplyEntry): readonly SentBlock[] {
  const { content } = message;
  const first = new Map<string, number>();
  for (const [index, block] of content.entries()) {
    if (block.type === 'tool_use' && !first.has(block.id)) first.set(block.id, index);
  }
  const known = content.flatMap((block, index): SentBlock[] => {
    if (block.type === 'tool_use' && first.get(block.id) !== index) return [];
    const kept = mended(block);
    return kept ? [{ index, block: kept }] : [];
  });
  const sent = withWholeServerCalls(known);
  return sent.slice(0, sent.findLastIndex(({ block }) => !isThinking(block)) + 1);
}

/** A call that the API runs by itself goes with its one result after it in the same reply: it refuses either alone. */
function withWholeServerCalls(sent: readonly SentBlock[]): readonly SentBlock[] {
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
  return sent.filter((each) => !isServers(each) || paired.has(each));
}

/** Null for a block that cannot be sent. */
function mended(block: ContentBlock): ContentBlockParam | null {
  const known = knownBlock(block);
  if (known === null) return null;
  const whole = wellFormed(known);
  switch (whole.type) {
    case 'text':
      return isBlank(whole.text) ? null : whole;
    case 'tool_use':
      return withSendableCall(whole);
    case 'thinking':
    case 'redacted_thinking':
      // Its signature is of what came: changed, it would be refused.
      return whole === known ? whole : null;
    default:
      return whole;
  }
}

/** A name or an input that the API would refuse comes only from a broken model or proxy; its outcome says that it was no call. */
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

function freeId(id: string, index: number, taken: ReadonlySet<string>): string {
  if (/^[a-zA-Z0-9_-]+$/.test(id) && !taken.has(id)) return id;
  // How many were sent before is the same whenever this reply is projected, so its new name is too.
  for (let n = taken.size; ; n += 1) {
    const other = `call_${n}_${index}`;
    if (!taken.has(other)) return other;
  }
}
