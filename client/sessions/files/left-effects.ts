// Lists the calls that a rewind leaves behind and that may have done more than change files (T8).
import type { Entry, Outcome, ReplyEntry } from '../../../store/log/entries.ts';
import { callsBehind, findChangingCall } from './calls-behind.ts';

export type RemainingEffect = {
  readonly name: string;
  readonly input: unknown;
  /** `unknown`: the call's end was lost. */
  readonly outcome: Outcome['log']['outcome'];
  /** Files that it has changed go back; whatever else it did stays done. */
  readonly filesGoBack?: true;
};

/**
 * Finds calls from the entry at `first` on whose effects stay: where files go back, edits and
 * writes go with them.
 */
export function listLeftEffects(
  entries: readonly Entry[],
  first: number,
  goFiles: boolean,
): readonly RemainingEffect[] {
  const undone = goFiles ? inputsBehindCaptures(entries, first) : new Set<unknown>();
  let reply = entries.slice(0, first).findLast((entry): entry is ReplyEntry => entry.kind === 'reply');
  const effects: RemainingEffect[] = [];
  for (const entry of entries.slice(first)) {
    if (entry.kind === 'reply') reply = entry;
    if (entry.kind !== 'outcomes') continue;
    for (const outcome of entry.outcomes) {
      const call = findChangingCall(reply, outcome);
      if (!call || (goFiles && FILE_TOOLS.has(call.name))) continue;
      const { name, input } = call;
      effects.push({ name, input, outcome: outcome.log.outcome, ...(undone.has(input) && { filesGoBack: true }) });
    }
  }
  return effects;
}

/** A call is told from others by its input, which is one object of the transcript. */
function inputsBehindCaptures(entries: readonly Entry[], first: number): ReadonlySet<unknown> {
  const inputs = new Set<unknown>();
  for (const [at, { kind }] of entries.entries())
    if (at >= first && kind === 'files') for (const { input } of callsBehind(entries, at)) inputs.add(input);
  return inputs;
}

const FILE_TOOLS: ReadonlySet<string> = new Set(['edit', 'write']);
