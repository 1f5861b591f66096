// Sums iterations into columns of a plot: few enough to draw, each for as many iterations as
// needed. Pure.
import { addSpend, noSpend, totalTokens } from '../../client/faces/contract.ts';
import type { Spend, Iteration } from '../../client/faces/types.ts';

export type Column = {
  readonly first: Iteration;
  readonly last: Iteration;
  /** Most tokens that the context had. */
  readonly context: number;
  readonly tokens: number;
  /** US dollars; null when a price is not known. */
  readonly usd: number | null;
  /** Tokens of the run so far. */
  readonly runTokens: number;
  readonly runUsd: number | null;
  /** Share of the prompts' tokens that came from the cache; null without any. */
  readonly cached: number | null;
  readonly compactions: number;
};

const MOST = 240;

export function columnsOf(iterations: readonly Iteration[], most = MOST): readonly Column[] {
  const stored = iterations.filter(({ reply }) => reply !== null);
  const size = Math.max(1, Math.ceil(stored.length / most));
  const columns: Column[] = [];
  let sum: { readonly run: number; readonly spend: Spend } = { run: 0, spend: noSpend };
  for (let from = 0; from < stored.length; from += size) {
    const those = stored.slice(from, from + size);
    for (const { run, reply } of those)
      sum = { run, spend: addSpend(sum.run === run ? sum.spend : noSpend, reply?.entry.spend ?? noSpend) };
    const column = columnOf(those, sum.spend);
    if (column) columns.push(column);
  }
  return columns;
}

function columnOf(those: readonly Iteration[], run: Spend): Column | null {
  const [first, last] = [those[0], those.at(-1)];
  if (!first || !last) return null;
  const spends = those.flatMap(({ reply }) => reply?.entry.spend ?? []);
  const { usage, usd } = spends.reduce(addSpend, noSpend);
  const prompts = usage.input + usage.cacheRead + usage.cacheWrite;
  return {
    first,
    last,
    context: Math.max(...spends.map((spend) => totalTokens(spend.usage))),
    tokens: totalTokens(usage),
    usd,
    runTokens: totalTokens(run.usage),
    runUsd: run.usd,
    cached: prompts === 0 ? null : usage.cacheRead / prompts,
    compactions: those.filter(({ compacted }) => compacted).length,
  };
}
