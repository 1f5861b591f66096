// Which outcome belongs to which call of a transcript: they are stored after their reply, people read them at the call.
import type { Entry, Outcome, ReplyEntry } from '../../activities/transcript/log/entries.ts';

/** By the position of the call's block in its reply. A call whose outcome is not stored yet is not in it. */
export type PairedOutcomes = ReadonlyMap<ReplyEntry, ReadonlyMap<number, Outcome>>;

/** Of calls with the same id in one reply only the first counts (L39): the others have no outcome, ever. */
export function isRepeated({ message: { content } }: ReplyEntry, index: number): boolean {
  const block = content[index];
  if (block?.type !== 'tool_use') return false;
  return content.slice(0, index).some((before) => before.type === 'tool_use' && before.id === block.id);
}

export const REPEATED = 'not run: a call before it has the same id';

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
