// Describes a run that has ended to the small model.
import type { EndedRun, Deps } from '../deps.ts';
import { type BlockItem, fitText } from '../compaction/blocks.ts';
import type { RunConfig } from '../../store/configuration.ts';
import type { Entry } from '../../store/log/entries.ts';
import { type RemainingBudget, noSpend, totalTokens } from '../../workflows/contract/loop.ts';

/** Returns what is left of a run's limits when it has ended (L51). */
export function limitsLeft(
  { rules, run }: Pick<RunConfig, 'rules' | 'run'>,
  { entries }: Pick<EndedRun, 'entries'>,
): RemainingBudget {
  const { maxBudgetUsd, maxTokens } = rules;
  const last = entries.findLast((entry) => entry.kind === 'run_ended');
  const { usd, usage } = last?.ended.run === run ? last.ended.spend : noSpend;
  return {
    ...(maxBudgetUsd === null ? {} : { usd: Math.max(0, maxBudgetUsd - (usd ?? 0)) }),
    ...(maxTokens === null ? {} : { tokens: Math.max(0, maxTokens - totalTokens(usage)) }),
  };
}

/**
 * Renders the last run of `entries`, without what others told the model; at most `limit`
 * characters.
 */
export async function renderFinishedRun(
  { transcripts }: Pick<Deps, 'transcripts'>,
  entries: readonly Entry[],
  which: 'user' | 'all',
  limit: number,
): Promise<string> {
  const from = Math.max(
    0,
    entries.findLastIndex((entry) => entry.kind === 'run_started'),
  );
  const items = entries.slice(from).flatMap((entry, offset): readonly BlockItem[] => {
    const position = from + offset;
    const isSaid = entry.kind === 'user' || (which === 'all' && (entry.kind === 'reply' || entry.kind === 'outcomes'));
    return isSaid ? [{ part: { kind: 'entry', position, entry }, reply: position }] : [];
  });
  return fitText(items, 0, await transcripts.bodies(entries.slice(from)), limit);
}
