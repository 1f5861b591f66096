// The prefix of a block of thinking, as the prefix check compares it: `system`, the tools that are
// not deferred, and every earlier message, by value. The way the JSON is written, cache_control and
// earlier thinking do not count.
import { findLeadingBlock, readCompaction, type CompactionRecord } from '../compaction/blocks.ts';
import type { ParsedRequest } from '../script.ts';
import { toBlocks } from '../read-request.ts';
import { digestTexts } from '../signed.ts';
import { isObject, type Json } from '../validate/shape.ts';

/** One content block that counts, or a message's own settings where it has no content. */
type PrefixItem = { readonly path: string; readonly digest: string };

export type Prefix = {
  readonly system: string;
  /** A digest of the tools that are not deferred. */
  readonly fixedTools: string;
  /** The deferred tools that a message referred to. */
  readonly referred: readonly string[];
  /** The compaction that the conversation begins with in place of older messages. */
  readonly compaction: CompactionRecord | undefined;
  /** Returns a digest of the tools that count before message `index`. */
  toolsBefore(index: number): string;
  /** The items of all messages. */
  readonly items: readonly PrefixItem[];
  /** The number of items before each message, and before the end. */
  readonly starts: readonly number[];
  /** Returns the digest of the first `count` items. */
  digest(count: number): string;
};

export const EMPTY_PREFIX = digestTexts('');

/**
 * Computes the prefix. `after` is told of each digest and the one before it, so that a place that
 * differs can be named later.
 */
export function computePrefix(request: ParsedRequest, after: (digest: string, before: string) => void): Prefix {
  const items: PrefixItem[] = [];
  const starts: number[] = [];
  const digests = [EMPTY_PREFIX];
  const block = findLeadingBlock(request.messages);
  const compaction = block === undefined ? undefined : readCompaction(block);
  for (const [index, message] of request.messages.entries()) {
    starts.push(items.length);
    for (const { path, parts } of listParts(message, `messages.${index}`)) {
      const before = digests.at(-1) ?? EMPTY_PREFIX;
      const summarised = compaction !== undefined && items.length === 0;
      const digest = summarised ? digestSummarised(compaction, request) : digestTexts(before, message.role, ...parts);
      items.push({ path, digest });
      digests.push(digest);
      if (!summarised) after(digest, before);
    }
  }
  starts.push(items.length);
  return {
    system: digestTexts(toCanonicalJson(toSystemBlocks(request.system))),
    ...digestTools(request, compaction?.referred ?? []),
    compaction,
    items,
    starts,
    digest: (count) => digests[count] ?? EMPTY_PREFIX,
  };
}

/**
 * Returns the digest of the messages that a compaction stands for; it differs where the API would
 * merge the first message after it into their last one.
 */
function digestSummarised({ messages, lastRole }: CompactionRecord, { messages: sent }: ParsedRequest): string {
  const alone = (sent[0]?.content.length ?? 0) === 1;
  const role = sent[alone ? 1 : 0]?.role;
  return role === lastRole || role === 'system' ? digestTexts('merged', messages) : messages;
}

type PrefixPart = { readonly path: string; readonly parts: readonly string[] };

function listParts(message: ParsedRequest['messages'][number], path: string): readonly PrefixPart[] {
  const { content, ...settings } = message as { readonly content?: ParsedRequest['messages'][number]['content'] };
  const blocks = toBlocks(content).flatMap((block, at): PrefixPart[] =>
    block.type === 'thinking' || block.type === 'redacted_thinking'
      ? []
      : [{ path: `${path}.content.${at}`, parts: listBlockParts(block as unknown as Json) }],
  );
  const { role: _role, ...own } = settings as Json & { readonly role: unknown };
  return Object.keys(own).length === 0 ? blocks : [...blocks, { path, parts: [toCanonicalJson(own)] }];
}

/**
 * Lists the parts of a block. Long texts are hashed as they are: to write them as JSON again would
 * cost more than everything else.
 */
function listBlockParts(block: Json): readonly string[] {
  const { type, text, citations } = block;
  if (type === 'text' && (citations === undefined || citations === null)) return ['text', String(text)];
  const { content, ...rest } = block;
  if (type === 'tool_result' && typeof content === 'string') return [toCanonicalJson(dropNulls(rest)), 'text', content];
  return [toCanonicalJson(dropNulls(block))];
}

/**
 * Drops nulls, which the API adds and a client may leave out, and a URL's parameters, which stand
 * for the same bytes.
 */
function dropNulls(block: Json): Json {
  const fields = Object.entries(block).filter(([, value]) => value !== null);
  const source = block['source'];
  if (!isObject(source) || source['type'] !== 'url') return Object.fromEntries(fields);
  return { ...Object.fromEntries(fields), source: { ...source, url: String(source['url']).split(/[?#]/, 1)[0] } };
}

function toSystemBlocks(system: ParsedRequest['system']): unknown {
  return typeof system === 'string' ? [{ type: 'text', text: system }] : (system ?? []);
}

/**
 * Computes the digests of tools. Deferred tools count from where a message has referred to them.
 */
function digestTools(
  request: ParsedRequest,
  summarised: readonly string[],
): Pick<Prefix, 'fixedTools' | 'referred' | 'toolsBefore'> {
  const tools = (request.tools ?? []) as unknown as readonly Json[];
  const deferred = new Set(tools.flatMap((tool) => (tool['defer_loading'] === true ? [String(tool['name'])] : [])));
  const known = new Map<string, string>();
  const digest = (referred: readonly string[]): string => {
    const key = referred.toSorted().join(' ');
    const counting = (tool: Json): boolean => tool['defer_loading'] !== true || referred.includes(String(tool['name']));
    const found = known.get(key) ?? digestTexts(toCanonicalJson(tools.filter(counting).map(dropNulls)));
    known.set(key, found);
    return found;
  };
  const fixedTools = digest([]);
  if (deferred.size === 0) return { fixedTools, referred: [], toolsBefore: () => fixedTools };
  const before = [[...summarised]];
  for (const message of request.messages) {
    const named = toBlocks(message.content).flatMap((block) => listToolNames(block));
    before.push([...new Set([...(before.at(-1) ?? []), ...named.filter((name) => deferred.has(name))])]);
  }
  return { fixedTools, referred: before.at(-1) ?? [], toolsBefore: (index) => digest(before[index] ?? []) };
}

/**
 * Lists the tools that a block refers to: `tool_name` of a result or a search, `tool.name` of a
 * change.
 */
function listToolNames(block: unknown): readonly string[] {
  if (Array.isArray(block)) return block.flatMap(listToolNames);
  if (!isObject(block)) return [];
  if (block['type'] === 'tool_reference') return [String(block['tool_name'] ?? block['name'])];
  return [
    ...listToolNames(block['content']),
    ...listToolNames(block['tool_references']),
    ...listToolNames(block['tool']),
  ];
}

/** Prints JSON with the keys of each object in order, without cache_control. */
function toCanonicalJson(value: unknown): string {
  return JSON.stringify(value, (key, inner: unknown) => {
    if (key === 'cache_control') return undefined;
    if (!isObject(inner)) return inner;
    const keys = Object.keys(inner);
    return keys.every((name, at) => at === 0 || (keys[at - 1] ?? '') <= name) ? inner : sortKeys(inner, keys);
  });
}

function sortKeys(value: Json, keys: readonly string[]): Json {
  return Object.fromEntries(keys.toSorted().map((key) => [key, value[key]]));
}
