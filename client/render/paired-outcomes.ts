// Finds the outcome of each call in a transcript: outcomes are stored after their reply, and people
// read them at the call.
import type { Entry, Outcome, ReplyEntry } from '../../store/log/entries.ts';

/**
 * Outcomes of a reply by the position of the call's block. A call without a stored outcome is
 * missing.
 */
export type PairedOutcomes = ReadonlyMap<ReplyEntry, ReadonlyMap<number, Outcome>>;

export const REPEATED = 'not run: a call before it has the same id';

export function pairOutcomes(entries: readonly Entry[]): PairedOutcomes {
  const paired = new Map<ReplyEntry, Map<number, Outcome>>();
  let open: Map<number, Outcome> | null = null;
  for (const entry of entries) {
    if (entry.kind === 'reply') paired.set(entry, (open = new Map()));
    if (entry.kind !== 'outcomes') continue;
    for (const outcome of entry.outcomes) if (!open?.has(outcome.index)) open?.set(outcome.index, outcome);
  }
  return paired;
}
