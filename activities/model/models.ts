// What we know of models: context window and maximum output in tokens, prices in US dollars per million tokens, as of
// 2026-11-01. A worker may add to it or replace it. An unknown model runs with the defaults and without a price.
import type { Price } from '../../workflows/contract/loop.ts';

export type ModelFacts = { readonly window: number; readonly maxOutput: number; readonly price: Price | null };

export const DEFAULT_MODEL = 'claude-sonnet-5-5';

/** Makes summaries. */
export const SMALL_MODEL = 'claude-haiku-5';

/** By prefix, the longest that fits wins. */
export type ModelTable = Readonly<Record<string, ModelFacts>>;

const priced = (input: number, output: number): Price => ({
  input,
  output,
  cacheRead: input / 10,
  cacheWrite: input * 1.25,
});

export const modelTable: ModelTable = {
  'claude-opus-': { window: 200_000, maxOutput: 64_000, price: priced(5, 25) },
  'claude-sonnet-': { window: 200_000, maxOutput: 64_000, price: priced(3, 15) },
  'claude-haiku-': { window: 200_000, maxOutput: 64_000, price: priced(1, 5) },
};

const unknownModel: ModelFacts = { window: 200_000, maxOutput: 64_000, price: null };

export function modelFacts(table: ModelTable, model: string): ModelFacts {
  const prefixes = Object.keys(table).filter((prefix) => model.startsWith(prefix));
  const longest = prefixes.toSorted((a, b) => b.length - a.length)[0];
  return longest === undefined ? unknownModel : (table[longest] ?? unknownModel);
}
