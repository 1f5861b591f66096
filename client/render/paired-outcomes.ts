// Which outcome belongs to which call of a transcript: they are stored after their reply, people read them at the call.
import type { Entry, Outcome, ReplyEntry } from '../../activities/transcript/entries.ts';

/** By the position of the call's block in its reply. A call whose outcome is not stored yet is not in it. */
export type PairedOutcomes = ReadonlyMap<ReplyEntry, ReadonlyMap<number, Outcome>>;

export function pairedOutcomes(entries: readonly Entry[]): PairedOutcomes {
  const paired = new Map<ReplyEntry, Map<number, Outcome>>();
  let open: Map<number, Outcome> | null = null;
  for (const entry of entries) {
    if (entry.kind === 'reply') paired.set(entry, (open = new Map()));
    if (entry.kind !== 'outcomes') continue;
    for (const outcome of entry.outcomes) if (!open?.has(outcome.index)) open?.set(outcome.index, outcome);
  }
  return paired;
}
