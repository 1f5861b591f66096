// Which part of a prompt is read from the cache, and which is written to it, as the API bills it: a prefix is cached where a
// cache_control stood, and found again by any later breakpoint at most 20 blocks after it.
// Unlike the API: nothing expires, and there is no smallest prefix, so that short tests can see caching.
import { RecentMap } from '../../activities/recent-map.ts';
import { createHash } from 'node:crypto';
import type { ContentBlockParam } from '@anthropic-ai/sdk/resources/messages';
import type { ParsedRequest } from './script.ts';
import { blocksOf } from './read-request.ts';
import { thinkingSize } from './thinking/signatures.ts';

/** Tokens. `read` + `written` + `rest` is the whole prompt. */
export type CacheUse = {
  readonly read: number;
  readonly written: number;
  readonly writtenFor: '5m' | '1h';
  readonly rest: number;
};

export type PromptCache = { use(request: ParsedRequest): CacheUse };

type Prefix = { readonly digest: string; readonly tokens: number; readonly breakpoint?: '5m' | '1h' };

const LOOKBACK = 20;

/** `limit`: prefixes remembered; the oldest are forgotten first. */
export function promptCache(limit = 4_096): PromptCache {
  const known = new RecentMap<string, true>(limit);
  return {
    use(request) {
      const blocks = promptBlocks(request);
      const prefixes = candidates(request.model, blocks);
      const read = prefixes.findLast((prefix) => known.has(prefix.digest))?.tokens ?? 0;
      const written = prefixes.findLast((prefix) => prefix.breakpoint !== undefined);
      for (const prefix of prefixes) if (prefix.breakpoint !== undefined) known.set(prefix.digest, true);
      const cached = written?.tokens ?? 0;
      return {
        read,
        written: cached - read,
        writtenFor: written?.breakpoint ?? '5m',
        rest: Math.max(0, promptTokens(blocks) - cached),
      };
    },
  };
}

/** The prefixes that end at a breakpoint or up to 20 blocks before one, shortest first. */
function candidates(model: string, blocks: readonly PromptBlock[]): readonly Prefix[] {
  const last = blocks.findLastIndex((block) => block.breakpoint !== undefined);
  const near = new Set<number>();
  for (const [index, block] of blocks.entries()) {
    if (block.breakpoint === undefined) continue;
    for (let at = Math.max(0, index - LOOKBACK); at <= index; at += 1) near.add(at);
  }
  const hash = createHash('sha256').update(model);
  const prefixes: Prefix[] = [];
  let bytes = 0;
  for (const [index, block] of blocks.slice(0, last + 1).entries()) {
    for (const part of block.parts) hash.update('\0').update(part);
    bytes += block.bytes;
    if (!near.has(index)) continue;
    const digest = hash.copy().digest('base64');
    prefixes.push({
      digest,
      tokens: bytesToTokens(bytes),
      ...(block.breakpoint === undefined ? {} : { breakpoint: block.breakpoint }),
    });
  }
  return prefixes;
}

// A prompt as the API renders it for caching and counting: tools, then system, then messages, block by block.

type PromptBlock = {
  /** Returns the block without its cache_control: equal blocks have equal parts. */
  readonly parts: readonly string[];
  readonly bytes: number;
  /** Set where a cache_control stands. */
  readonly breakpoint?: '5m' | '1h';
};

/** An image or a document costs about 1,600 tokens, whatever its bytes. */
const MEDIA_BYTES = 6_400;

/** What a signature is long does not count. */
const SIGNATURE_BYTES = 100;

export function promptBlocks(request: ParsedRequest): readonly PromptBlock[] {
  const blocks: PromptBlock[] = [];
  // A deferred tool is not in the prompt until something refers to it, and then stands where that does.
  const tools = (request.tools ?? []).filter(
    (tool) => (tool as { readonly defer_loading?: boolean }).defer_loading !== true,
  );
  for (const tool of tools) blocks.push(promptBlock(tool, [json(tool)]));
  const system = typeof request.system === 'string' ? [{ text: request.system }] : (request.system ?? []);
  for (const part of system) blocks.push(promptBlock(part, ['system', part.text]));
  // A change of these keeps tools and system cached, and loses the messages.
  const settings = JSON.stringify(messageSettings(request));
  for (const [index, message] of request.messages.entries()) {
    for (const content of blocksOf(message.content)) {
      blocks.push(
        promptBlock(content, [...(index === 0 ? [settings] : []), message.role, ...contentParts(content)], content),
      );
    }
  }
  const last = blocks.at(-1);
  if (request.cache_control && last !== undefined) {
    blocks[blocks.length - 1] = { ...last, breakpoint: request.cache_control.ttl ?? '5m' };
  }
  return blocks;
}

/** How thinking is shown, and what becomes of changed prefixes, changes nothing. */
function messageSettings({ tool_choice: choice, thinking, output_config: config }: ParsedRequest): readonly unknown[] {
  const budget = thinking !== undefined && 'budget_tokens' in thinking ? thinking.budget_tokens : null;
  const { effort = null, task_budget: task = null } = (config ?? {}) as Readonly<Record<string, unknown>>;
  return [choice ?? null, thinking?.type ?? null, budget, effort, task];
}

export function promptTokens(blocks: readonly PromptBlock[]): number {
  return bytesToTokens(blocks.reduce((sum, { bytes }) => sum + bytes, 0));
}

export function bytesToTokens(bytes: number): number {
  return Math.ceil(bytes / 4);
}

type Cacheable = { readonly cache_control?: { readonly ttl?: '5m' | '1h' } | null };

function promptBlock(source: object, parts: readonly string[], content?: ContentBlockParam): PromptBlock {
  const control = (source as Cacheable).cache_control ?? nestedControl(content);
  const bytes = contentBytes(content) ?? parts.reduce((sum, part) => sum + Buffer.byteLength(part), 0);
  return { parts, bytes, ...(control ? { breakpoint: control.ttl ?? '5m' } : {}) };
}

/** Of what does not cost what it is long; undefined for all else. */
function contentBytes(content: ContentBlockParam | undefined): number | undefined {
  if (content?.type === 'image' || content?.type === 'document') return MEDIA_BYTES;
  if ((content?.type as string | undefined) === 'compaction')
    return Buffer.byteLength(String((content as { content?: unknown }).content));
  if (content?.type !== 'thinking') return undefined;
  return (thinkingSize(content.signature) ?? Buffer.byteLength(content.thinking)) + SIGNATURE_BYTES;
}

function nestedControl(content: ContentBlockParam | undefined): Cacheable['cache_control'] {
  if (content?.type !== 'tool_result' || typeof content.content === 'string') return undefined;
  return content.content?.map((part) => (part as Cacheable).cache_control).findLast((control) => control);
}

/** Long texts are handed on as they are: to serialise them again would cost more than everything else. */
function contentParts(content: ContentBlockParam): readonly string[] {
  if (content.type === 'text') return ['text', content.text];
  if (content.type === 'tool_result' && typeof content.content === 'string') {
    return ['tool_result', content.tool_use_id, String(content.is_error === true), content.content];
  }
  return [json(content)];
}

function json(value: object): string {
  return JSON.stringify(value, (key, inner: unknown) => (key === 'cache_control' ? undefined : inner));
}
