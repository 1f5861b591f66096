// Which part of a prompt is read from the cache, and which is written to it, as the API bills it: a prefix is cached where a
// cache_control stood, and found again by any later breakpoint at most 20 blocks after it.
// Unlike the API: nothing expires, and there is no smallest prefix, so that short tests can see caching.
import { createHash } from 'node:crypto';
import { bytesToTokens, promptBlocks, promptTokens } from './prompt-blocks.ts';
import type { PromptBlock } from './prompt-blocks.ts';
import type { ParsedRequest } from './script.ts';

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
  const known = new Set<string>();
  const remember = (digest: string): void => {
    known.delete(digest);
    known.add(digest);
    for (const oldest of known) {
      if (known.size <= limit) break;
      known.delete(oldest);
    }
  };
  return {
    use(request) {
      const blocks = promptBlocks(request);
      const prefixes = candidates(request.model, blocks);
      const read = prefixes.findLast((prefix) => known.has(prefix.digest))?.tokens ?? 0;
      const written = prefixes.findLast((prefix) => prefix.breakpoint !== undefined);
      for (const prefix of prefixes) if (prefix.breakpoint !== undefined) remember(prefix.digest);
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
