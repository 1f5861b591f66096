// Computes which part of a prompt is read from the cache, and which is written to it, as the API
// bills it. A prefix is cached where a cache_control stood, for as long as that says, and found
// again by any later breakpoint at most 20 blocks after it.
import { RecentMap } from '../system/recent-map.ts';
import { createHash } from 'node:crypto';
import type { ParsedRequest } from './script.ts';
import { findProfile } from './models/profiles.ts';
import { listPromptBlocks, countPromptTokens, type ParsedPromptBlock, bytesToTokens } from './prompt-blocks.ts';
import { present } from '../workflows/contract/present.ts';

/** Tokens. Together they are the whole prompt. */
export type CacheUse = {
  readonly read: number;
  readonly written: Readonly<Record<Ttl, number>>;
  readonly rest: number;
};

export type PromptCache = { use(request: ParsedRequest): CacheUse };

export type CacheOptions = {
  /**
   * Tokens; a shorter prefix is not cached. Absent: the documented number of the model, and 0 for
   * other models.
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

/** The number of prefixes remembered; the oldest are forgotten first. */
const MOST_PREFIXES = 4_096;

export function createPromptCache({ least, now = Date.now }: CacheOptions = {}): PromptCache {
  const known = new RecentMap<string, Entry>(MOST_PREFIXES);
  return {
    use(request) {
      const blocks = listPromptBlocks(request);
      const shortest = least ?? findProfile(request.model)?.leastCached ?? 0;
      const prefixes = listPrefixes(request.model, blocks).filter(({ tokens }) => tokens >= shortest);
      const at = now();
      const found = prefixes.findLast(({ digest }) => (known.get(digest)?.until ?? 0) > at);
      const entry = found && known.get(found.digest);
      // Time counts from the start of the request that writes, or reads.
      if (found && entry) known.set(found.digest, { ...entry, until: at + LASTS[entry.ttl] });
      for (const { digest, breakpoint } of prefixes) {
        if (breakpoint !== undefined) known.set(digest, { ttl: breakpoint, until: at + LASTS[breakpoint] });
      }
      return splitUse(prefixes, found?.tokens ?? 0, countPromptTokens(blocks));
    },
  };
}

/**
 * Splits the written tokens: those up to the last breakpoint for an hour are written for an hour.
 */
function splitUse(prefixes: readonly Prefix[], read: number, whole: number): CacheUse {
  const upTo = (fits: (prefix: Prefix) => boolean): number => prefixes.findLast(fits)?.tokens ?? 0;
  const cached = upTo(({ breakpoint }) => breakpoint !== undefined);
  const long = Math.max(0, upTo(({ breakpoint }) => breakpoint === '1h') - read);
  return {
    read,
    written: { '5m': Math.max(0, cached - read - long), '1h': long },
    rest: Math.max(0, whole - Math.max(cached, read)),
  };
}

/** Lists the prefixes that end at a breakpoint or up to 20 blocks before one, shortest first. */
function listPrefixes(model: string, blocks: readonly ParsedPromptBlock[]): readonly Prefix[] {
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
      ...present({ breakpoint: block.breakpoint }),
    });
  }
  return prefixes;
}
