// What stands before a block of thinking, as the prefix check compares it: `system`, the tools that
// are not deferred, and every earlier message, by value. How the JSON is written, cache_control and
// earlier thinking do not count.
import { leadingBlock, readCompaction, type CompactionRecord } from '../compaction/blocks.ts';
import type { ParsedRequest } from '../script.ts';
import { blocksOf } from '../read-request.ts';
import { digestOf } from '../signed.ts';
import { isObject, type Json } from '../validate/shape.ts';

/** One content block that counts, or a message's own settings where it has no content. */
export type PrefixItem = { readonly path: string; readonly digest: string };

export type Prefix = {
  readonly system: string;
  /** Of the tools that are not deferred. */
  readonly fixedTools: string;
  /** The deferred tools that a message referred to. */
  readonly referred: readonly string[];
  /** What the conversation begins with in place of older messages. */
  readonly compaction: CompactionRecord | undefined;
  /** Of the tools that count before message `index`. */
  toolsBefore(index: number): string;
  /** The items of all messages. */
  readonly items: readonly PrefixItem[];
  /** How many items stand before each message, and before the end. */
  readonly starts: readonly number[];
  /** The digest of the first `count` items. */
  digest(count: number): string;
};

export const EMPTY_PREFIX = digestOf('');

/**
 * `after` is told of each digest and the one before it, so that a place that differs can be named
 * later.
 */
export function prefixOf(request: ParsedRequest, after: (digest: string, before: string) => void): Prefix {
  const items: PrefixItem[] = [];
  const starts: number[] = [];
  const digests = [EMPTY_PREFIX];
  const block = leadingBlock(request.messages);
  const compaction = block === undefined ? undefined : readCompaction(block);
  for (const [index, message] of request.messages.entries()) {
    starts.push(items.length);
    for (const { path, parts } of partsOf(message, `messages.${index}`)) {
      const before = digests.at(-1) ?? EMPTY_PREFIX;
      const summarised = compaction !== undefined && items.length === 0;
      const digest = summarised ? standsFor(compaction, request) : digestOf(before, message.role, ...parts);
      items.push({ path, digest });
      digests.push(digest);
      if (!summarised) after(digest, before);
    }
  }
  starts.push(items.length);
  return {
    system: digestOf(canonical(systemBlocks(request.system))),
    ...toolDigests(request, compaction?.referred ?? []),
    compaction,
    items,
    starts,
    digest: (count) => digests[count] ?? EMPTY_PREFIX,
  };
}

/**
 * A compaction's block stands for what it summarises, unless the API would merge the first message
 * after it into the last one of that.
 */
function standsFor({ messages, lastRole }: CompactionRecord, { messages: sent }: ParsedRequest): string {
  const alone = (sent[0]?.content.length ?? 0) === 1;
  const role = sent[alone ? 1 : 0]?.role;
  return role === lastRole || role === 'system' ? digestOf('merged', messages) : messages;
}

type Part = { readonly path: string; readonly parts: readonly string[] };

function partsOf(message: ParsedRequest['messages'][number], path: string): readonly Part[] {
  const { content, ...settings } = message as { readonly content?: ParsedRequest['messages'][number]['content'] };
  const blocks = blocksOf(content).flatMap((block, at): Part[] =>
    block.type === 'thinking' || block.type === 'redacted_thinking'
      ? []
      : [{ path: `${path}.content.${at}`, parts: blockParts(block as unknown as Json) }],
  );
  const { role: _role, ...own } = settings as Json & { readonly role: unknown };
  return Object.keys(own).length === 0 ? blocks : [...blocks, { path, parts: [canonical(own)] }];
}

/**
 * Long texts are hashed as they are: to write them as JSON again would cost more than everything
 * else.
 */
function blockParts(block: Json): readonly string[] {
  const { type, text, citations } = block;
  if (type === 'text' && (citations === undefined || citations === null)) return ['text', String(text)];
  const { content, ...rest } = block;
  if (type === 'tool_result' && typeof content === 'string') return [canonical(bare(rest)), 'text', content];
  return [canonical(bare(block))];
}

/**
 * What the API adds as null and a client may leave out is the same; so are a URL's parameters,
 * which stand for the same bytes.
 */
function bare(block: Json): Json {
  const kept = Object.entries(block).filter(([, value]) => value !== null);
  const source = block['source'];
  if (!isObject(source) || source['type'] !== 'url') return Object.fromEntries(kept);
  return { ...Object.fromEntries(kept), source: { ...source, url: String(source['url']).split(/[?#]/, 1)[0] } };
}

function systemBlocks(system: ParsedRequest['system']): unknown {
  return typeof system === 'string' ? [{ type: 'text', text: system }] : (system ?? []);
}

/** Deferred tools count from where a message has referred to them. */
function toolDigests(
  request: ParsedRequest,
  summarised: readonly string[],
): Pick<Prefix, 'fixedTools' | 'referred' | 'toolsBefore'> {
  const tools = (request.tools ?? []) as unknown as readonly Json[];
  const deferred = new Set(tools.flatMap((tool) => (tool['defer_loading'] === true ? [String(tool['name'])] : [])));
  const known = new Map<string, string>();
  const digest = (referred: readonly string[]): string => {
    const key = referred.toSorted().join(' ');
    const counting = (tool: Json): boolean => tool['defer_loading'] !== true || referred.includes(String(tool['name']));
    const found = known.get(key) ?? digestOf(canonical(tools.filter(counting).map(bare)));
    known.set(key, found);
    return found;
  };
  const fixedTools = digest([]);
  if (deferred.size === 0) return { fixedTools, referred: [], toolsBefore: () => fixedTools };
  const before = [[...summarised]];
  for (const message of request.messages) {
    const named = blocksOf(message.content).flatMap((block) => namesIn(block));
    before.push([...new Set([...(before.at(-1) ?? []), ...named.filter((name) => deferred.has(name))])]);
  }
  return { fixedTools, referred: before.at(-1) ?? [], toolsBefore: (index) => digest(before[index] ?? []) };
}

/**
 * The tools that a block refers to: of a result or a search `tool_name`, of a change `tool.name`.
 */
function namesIn(block: unknown): readonly string[] {
  if (Array.isArray(block)) return block.flatMap(namesIn);
  if (!isObject(block)) return [];
  if (block['type'] === 'tool_reference') return [String(block['tool_name'] ?? block['name'])];
  return [...namesIn(block['content']), ...namesIn(block['tool_references']), ...namesIn(block['tool'])];
}

/** JSON with the keys of each object in order, without cache_control. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (key, inner: unknown) => {
    if (key === 'cache_control') return undefined;
    if (!isObject(inner)) return inner;
    const keys = Object.keys(inner);
    return keys.every((name, at) => at === 0 || (keys[at - 1] ?? '') <= name) ? inner : sorted(inner, keys);
  });
}

function sorted(value: Json, keys: readonly string[]): Json {
  return Object.fromEntries(keys.toSorted().map((key) => [key, value[key]]));
}
