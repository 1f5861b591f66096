// A run that has ended, as the small model is asked about it.
import type { EndedRun, Deps } from '../deps.ts';
import type { Item } from '../compaction/blocks.ts';
import { fitText } from '../compaction/summarize.ts';
import type { RunConfig } from '../../store/configuration.ts';
import type { Entry } from '../../store/log/entries.ts';
import { type Left, noSpend, totalTokens } from '../../workflows/contract/loop.ts';

/** Of a run's limits, when it has ended (L51). */
export function leftAfter(
  { rules, run }: Pick<RunConfig, 'rules' | 'run'>,
  { entries }: Pick<EndedRun, 'entries'>,
): Left {
  const { maxBudgetUsd, maxTokens } = rules;
  const last = entries.findLast((entry) => entry.kind === 'run_ended');
  const { usd, usage } = last?.ended.run === run ? last.ended.spend : noSpend;
  return {
    ...(maxBudgetUsd === null ? {} : { usd: Math.max(0, maxBudgetUsd - (usd ?? 0)) }),
    ...(maxTokens === null ? {} : { tokens: Math.max(0, maxTokens - totalTokens(usage)) }),
  };
}

/**
 * What was said in the last run of `entries`, without what was told to the model by others; at most
 * `limit` characters.
 */
export async function runText(
  { transcripts }: Pick<Deps, 'transcripts'>,
  entries: readonly Entry[],
  which: 'user' | 'all',
  limit: number,
): Promise<string> {
  const from = Math.max(
    0,
    entries.findLastIndex((entry) => entry.kind === 'run_started'),
  );
  const items = entries.slice(from).flatMap((entry, offset): readonly Item[] => {
    const position = from + offset;
    const isSaid = entry.kind === 'user' || (which === 'all' && (entry.kind === 'reply' || entry.kind === 'outcomes'));
    return isSaid ? [{ shown: { kind: 'entry', position, entry }, reply: position }] : [];
  });
  return fitText(items, 0, await transcripts.bodies(entries.slice(from)), limit);
}
