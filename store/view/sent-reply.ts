// Turns a stored reply into the blocks that are sent (L16, L39, L58, L59). Blocks go back as they
// came. A block that the API would refuse is left out or mended here; the transcript keeps it as it
// came.
import { isDeepStrictEqual } from 'node:util';
import type { ContentBlock, ContentBlockParam, Message, ToolUseBlockParam } from '@anthropic-ai/sdk/resources/messages';
import { z } from 'zod';
import { freeId } from '../transcript/call-ids.ts';
import type { ReplyEntry } from '../log/entries.ts';
import { isBlank, replaceLoneSurrogates } from '../../system/text.ts';

/** Remembers what was worked out for a reply: entries never change. */
export type ReplyMemo = WeakMap<ReplyEntry, readonly SentBlock[]>;

type SentBlock = { readonly index: number; readonly block: ContentBlockParam };

export type SentReply = {
  readonly blocks: readonly ContentBlockParam[];
  /**
   * The calls among them, in order: the block's position in the reply, and the id it is sent under.
   */
  readonly calls: readonly { readonly index: number; readonly id: string }[];
};

/**
 * `taken`: ids of calls sent before; those of this reply are added. Ids may repeat from reply to
 * reply, a request may not hold one twice.
 */
export function sentReply(
  reply: ReplyEntry,
  taken: Set<string>,
  memo?: ReplyMemo,
  { withThinking = true, across = NONE }: Sending = {},
): SentReply {
  const isAlone = across.size === 0;
  const sent = (isAlone ? memo?.get(reply) : undefined) ?? sendable(reply, across);
  if (isAlone) memo?.set(reply, sent);
  const calls: { index: number; id: string }[] = [];
  const chosen = withThinking ? sent : sent.filter(({ block }) => !isThinking(block));
  const blocks = chosen.map(({ index, block }) => {
    if (block.type !== 'tool_use') return block;
    const id = freeId(reply.ids?.[index] ?? block.id, index, taken);
    taken.add(id);
    calls.push({ index, id });
    return id === block.id ? block : { ...block, id };
  });
  return { blocks, calls };
}

/** `across`: calls of the API's own that this reply and one beside it share. */
type Sending = { readonly withThinking?: boolean; readonly across?: ReadonlySet<string> };

const NONE: ReadonlySet<string> = new Set();

/**
 * Calls of the API's own that a reply asked for beside calls of ours, by their ids: the API carries
 * them out when it has the results of these, and answers with both.
 */
export function openServerCalls({ message: { content, stop_reason } }: ReplyEntry): readonly string[] {
  if (stop_reason !== 'tool_use') return [];
  const closed = new Set(answeredServerCalls(content));
  return content.flatMap((block) => (block.type === 'server_tool_use' && !closed.has(block.id) ? [block.id] : []));
}

export function answeredServerCalls(content: readonly ContentBlock[]): readonly string[] {
  return content.flatMap((block) =>
    block.type.endsWith('_tool_result') && 'tool_use_id' in block ? [block.tool_use_id] : [],
  );
}

/**
 * An alias is asked for and answers under its dated name: `asked` says so, where it was recorded.
 */
export function isFrom({ asked, message }: ReplyEntry, model: string): boolean {
  return asked === model || message.model === model || message.model.replace(/-\d{8}$/, '') === model;
}

function sendable({ message }: ReplyEntry, across: ReadonlySet<string>): readonly SentBlock[] {
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
  const sent = withWholeServerCalls(known, across);
  return sent.slice(0, sent.findLastIndex(({ block }) => !isThinking(block)) + 1);
}

/**
 * What goes back of a reply that the API has paused, so that it goes on: all of it, also a call
 * that the API has yet to carry out.
 */
export function pausedBlocks({ content }: Pick<Message, 'content'>): readonly ContentBlockParam[] {
  return content.flatMap((block) => mended(block) ?? []);
}

/**
 * A call that the API runs by itself goes with its one result after it in the same reply: it
 * refuses either alone.
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

/** Null for a block that cannot be sent. */
function mended(block: ContentBlock): ContentBlockParam | null {
  const known = knownBlock(block);
  if (known === null) return null;
  const whole = replaceLoneSurrogates(known);
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

/**
 * A name or an input that the API would refuse comes only from a broken model or proxy; its outcome
 * says that it was no call.
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

// The blocks of a reply that a request may have, each with the fields that it may have there (L58).
// For one kind or one field more than it knows, the API refuses the request and every later one of
// the session: what is not listed here stays in the transcript only.

const text = z.string();
const count = z.int();
/** The API gives server tools ids of their own, and refuses others. */
const serverId = text.regex(/^srvtoolu_[a-zA-Z0-9_]+$/);

function of<Type extends string, Fields extends z.ZodRawShape>(type: Type, fields: Fields) {
  return z.object({ type: z.literal(type), ...fields });
}

/** A field that a block can do without: one of another shape is left out. */
function extra<Schema extends z.ZodType>(schema: Schema) {
  return z.optional(schema.nullable().catch(null));
}

const cited = { cited_text: text };
const inDocument = { ...cited, document_index: count, document_title: text.nullable() };
const citation = z.discriminatedUnion('type', [
  of('char_location', { ...inDocument, start_char_index: count, end_char_index: count }),
  of('page_location', { ...inDocument, start_page_number: count, end_page_number: count }),
  of('content_block_location', { ...inDocument, start_block_index: count, end_block_index: count }),
  of('web_search_result_location', { ...cited, encrypted_index: text, title: text.nullable(), url: text }),
  of('search_result_location', {
    ...cited,
    search_result_index: count,
    source: text,
    title: text.nullable(),
    start_block_index: count,
    end_block_index: count,
  }),
]);
const citations = z.array(z.unknown()).transform((all) => all.flatMap((each) => citation.safeParse(each).data ?? []));

const source = z.discriminatedUnion('type', [
  of('base64', { media_type: z.literal('application/pdf'), data: text }),
  of('text', { media_type: z.literal('text/plain'), data: text }),
]);
const document = of('document', {
  source,
  title: extra(text),
  citations: extra(z.object({ enabled: z.boolean() })),
});

/** No tool that we offer calls others: what has another caller is sent as the model's own call. */
const called = { caller: z.optional(of('direct', {}).catch({ type: 'direct' })) };

const serverCall = of('server_tool_use', {
  id: serverId,
  name: z.enum([
    'web_search',
    'web_fetch',
    'code_execution',
    'bash_code_execution',
    'text_editor_code_execution',
    'tool_search_tool_regex',
    'tool_search_tool_bm25',
  ]),
  input: z.custom((value) => typeof value === 'object' && value !== null && !Array.isArray(value)),
  ...called,
});

function resultBlock<Type extends string, Content extends z.ZodType>(type: Type, content: Content) {
  return of(`${type}_tool_result`, { tool_use_id: serverId, content });
}

function error<Type extends string>(type: Type) {
  return of(`${type}_tool_result_error`, { error_code: text });
}

function ran<Type extends string>(type: Type) {
  const output = of(`${type}_output`, { file_id: text });
  return of(`${type}_result`, { stdout: text, stderr: text, return_code: count, content: z.array(output) });
}

const page = of('web_search_result', { url: text, title: text, encrypted_content: text, page_age: extra(text) });
const fetched = of('web_fetch_result', { url: text, content: document, retrieved_at: extra(text) });
const encrypted = of('encrypted_code_execution_result', {
  encrypted_stdout: text,
  stderr: text,
  return_code: count,
  content: z.array(of('code_execution_output', { file_id: text })),
});
const viewed = of('text_editor_code_execution_view_result', {
  content: text,
  file_type: z.enum(['text', 'image', 'pdf']),
  num_lines: extra(count),
  start_line: extra(count),
  total_lines: extra(count),
});
const created = of('text_editor_code_execution_create_result', { is_file_update: z.boolean() });
const replaced = of('text_editor_code_execution_str_replace_result', {
  lines: extra(z.array(text)),
  new_lines: extra(count),
  new_start: extra(count),
  old_lines: extra(count),
  old_start: extra(count),
});
const found = of('tool_search_tool_search_result', {
  tool_references: z.array(of('tool_reference', { tool_name: text })),
});
const said = { error_message: extra(text) };

const serverResults = [
  resultBlock('web_search', z.union([error('web_search'), z.array(page)])).extend(called),
  resultBlock('web_fetch', z.union([error('web_fetch'), fetched])).extend(called),
  resultBlock('code_execution', z.union([error('code_execution'), ran('code_execution'), encrypted])),
  resultBlock('bash_code_execution', z.union([error('bash_code_execution'), ran('bash_code_execution')])),
  resultBlock(
    'text_editor_code_execution',
    z.union([error('text_editor_code_execution').extend(said), viewed, created, replaced]),
  ),
  resultBlock('tool_search', z.union([error('tool_search').extend(said), found])),
] as const;

const block = z.discriminatedUnion('type', [
  of('text', { text, citations: extra(citations) }),
  of('thinking', { thinking: text, signature: text.min(1) }),
  of('redacted_thinking', { data: text.min(1) }),
  of('tool_use', { id: text, name: text, input: z.optional(z.unknown()), ...called, toolset_name: extra(text) }),
  serverCall,
  ...serverResults,
]);

/**
 * The block itself when there is nothing to leave out; null when a request may not have it at all.
 */
function knownBlock(given: ContentBlock): ContentBlockParam | null {
  const { data } = block.safeParse(given);
  if (data === undefined) return null;
  return (isDeepStrictEqual(data, given) ? given : data) as ContentBlockParam;
}
