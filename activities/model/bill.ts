// Computes the bill of one request (L51): tokens as its usage says, US dollars by the prices of the
// models that did the work. Several models may have worked on one reply, because the API can
// summarise the conversation or hand over to another model. The usage has an entry for each.
import type { Message } from '@anthropic-ai/sdk/resources/messages';
import type { ModelStep } from './step.ts';
import { type Counts, isCounts, countSearches, wholeCount } from './usage-counts.ts';
import {
  addUsage,
  costOf,
  noUsage,
  pricesFor,
  totalTokens,
  type ModelPrice,
  type Spend,
  type Usage,
} from '../../workflows/contract/loop.ts';

/** `priceOf` looks up the price of a model other than the requested one. */
export type Prices = { readonly price: ModelPrice | null; readonly priceOf?: (model: string) => ModelPrice | null };

export function pricesOf({ deps, chosen }: Pick<ModelStep, 'deps' | 'chosen'>): Prices {
  return { price: chosen.model.price, priceOf: (model) => deps.models.facts(model).price };
}

export function spendOf(usage: Message['usage'] | undefined, { price, priceOf }: Prices): Spend {
  if (!usage) return { usage: noUsage, usd: price && 0 };
  const entries = entriesOf(usage);
  const spends = entries.map((entry) => {
    const by = isAnothers(entry) ? (priceOf?.(entry.model ?? '') ?? null) : price;
    return { usage: entry.usage, usd: by && entryCost(entry, by) };
  });
  const tokens = spends.reduce((sum, spend) => addUsage(sum, spend.usage), noUsage);
  const costs = spends.map(({ usd }) => usd);
  const known = costs.every((usd) => usd !== null) && price !== null;
  const sum = costs.reduce<number>((total, usd) => total + (usd ?? 0), 0);
  return {
    usage: tokens,
    usd: known ? sum * factorOf(usage, price) + countSearches(usage) * (price.webSearch ?? 0) : null,
  };
}

/** Counts the tokens in context after a reply: those of its last own entry, without summaries. */
export function contextTokensOf(usage: Message['usage']): number {
  return totalTokens(contextUsageOf(usage));
}

export function contextUsageOf(usage: Message['usage']): Usage {
  const own = entriesOf(usage).filter(
    ({ type }) => type === undefined || type === 'message' || type === 'fallback_message',
  );
  return own.at(-1)?.usage ?? noUsage;
}

type BilledEntry = {
  readonly usage: Usage;
  readonly written1h: number;
  readonly model?: string;
  readonly type?: string;
};

/** Tells whether another model gave advice or took over. */
function isAnothers({ type }: BilledEntry): boolean {
  return type === 'fallback_message' || type === 'advisor_message';
}

/**
 * Returns the entries that the usage lists, or the usage itself. With a list, the usage's own
 * counts are a part of the bill, or zero.
 */
function entriesOf(usage: Message['usage']): readonly BilledEntry[] {
  const { iterations } = usage as unknown as Counts;
  const listed = Array.isArray(iterations) ? iterations.filter(isCounts) : [];
  return listed.length === 0 ? [entryOf(usage as unknown as Counts)] : listed.map(entryOf);
}

function entryOf(counts: Counts): BilledEntry {
  const cacheWrite = wholeCount(counts['cache_creation_input_tokens']);
  const split = counts['cache_creation'];
  const oneHour = isCounts(split) ? wholeCount(split['ephemeral_1h_input_tokens']) : 0;
  const { model, type } = counts;
  return {
    usage: {
      input: wholeCount(counts['input_tokens']),
      output: wholeCount(counts['output_tokens']),
      cacheRead: wholeCount(counts['cache_read_input_tokens']),
      cacheWrite,
    },
    written1h: Math.min(oneHour, cacheWrite),
    ...(typeof model === 'string' && { model }),
    ...(typeof type === 'string' && { type }),
  };
}

function entryCost({ usage, written1h }: BilledEntry, price: ModelPrice): number {
  const { cacheWrite, cacheWrite1h = cacheWrite } = pricesFor(usage, price);
  return costOf(usage, price) + (written1h * (cacheWrite1h - cacheWrite)) / 1_000_000;
}

/** Multiplies the factors for inference in one country, at another speed, and at another time. */
function factorOf(usage: Message['usage'], { factors = {} }: ModelPrice): number {
  const { inference_geo: geo, speed, service_tier: tier } = usage as unknown as Counts;
  const us = geo === 'us' ? (factors.us ?? 1) : 1;
  const fast = speed === 'fast' ? (factors.fast ?? 1) : 1;
  const batch = tier === 'batch' ? (factors.batch ?? 1) : 1;
  return us * fast * batch;
}
