// Which part of a prompt is read from the cache, and which is written to it, as the API bills it: a
// prefix is cached where a cache_control stood, for as long as that says, and found again by any
// later breakpoint at most 20 blocks after it.
import { RecentMap } from '../system/recent-map.ts';
import { createHash } from 'node:crypto';
import type { ContentBlockParam } from '@anthropic-ai/sdk/resources/messages';
import type { ParsedRequest } from './script.ts';
import { profileOf } from './models/profiles.ts';
import { blocksOf } from './read-request.ts';
import { thinkingSize } from './thinking/signatures.ts';

/** Tokens. Together they are the whole prompt. */
export type CacheUse = {
  readonly read: number;
  readonly written: Readonly<Record<Ttl, number>>;
  readonly rest: number;
};

export type PromptCache = { use(request: ParsedRequest): CacheUse };

export type CacheOptions = {
  /**
   * Tokens; a shorter prefix is not cached. Unless given, what the documents say of the model, and
   * nothing of others.
   */
  readonly least?: number;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
};

type Ttl = '5m' | '1h';
type Prefix = { readonly digest: string; readonly tokens: number; readonly breakpoint?: Ttl };
type Entry = { readonly until: number; readonly ttl: Ttl };

const LOOKBACK = 20;
const LASTS: Readonly<Record<Ttl, number>> = { '5m': 300_000, '1h': 3_600_000 };

/** Prefixes remembered; the oldest are forgotten first. */
const MOST = 4_096;

export function promptCache({ least, now = Date.now }: CacheOptions = {}): PromptCache {
  const known = new RecentMap<string, Entry>(MOST);
  return {
    use(request) {
      const blocks = promptBlocks(request);
      const shortest = least ?? profileOf(request.model)?.leastCached ?? 0;
      const prefixes = candidates(request.model, blocks).filter(({ tokens }) => tokens >= shortest);
      const at = now();
      const found = prefixes.findLast(({ digest }) => (known.get(digest)?.until ?? 0) > at);
      const entry = found && known.get(found.digest);
      // Time counts from the start of the request that writes, or reads.
      if (found && entry) known.set(found.digest, { ...entry, until: at + LASTS[entry.ttl] });
      for (const { digest, breakpoint } of prefixes) {
        if (breakpoint !== undefined) known.set(digest, { ttl: breakpoint, until: at + LASTS[breakpoint] });
      }
      return useOf(prefixes, found?.tokens ?? 0, promptTokens(blocks));
    },
  };
}

/** What stands up to the last breakpoint for an hour is written for an hour. */
function useOf(prefixes: readonly Prefix[], read: number, whole: number): CacheUse {
  const upTo = (fits: (prefix: Prefix) => boolean): number => prefixes.findLast(fits)?.tokens ?? 0;
  const cached = upTo(({ breakpoint }) => breakpoint !== undefined);
  const long = Math.max(0, upTo(({ breakpoint }) => breakpoint === '1h') - read);
  return {
    read,
    written: { '5m': Math.max(0, cached - read - long), '1h': long },
    rest: Math.max(0, whole - Math.max(cached, read)),
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

// A prompt as the API renders it for caching and counting: tools, then system, then messages, block
// by block.

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
  // A deferred tool is not in the prompt until something refers to it, and then stands where that
  // does.
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

/**
 * Long texts are handed on as they are: to serialise them again would cost more than everything
 * else.
 */
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
