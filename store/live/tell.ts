// Shows watchers what a step appends to the transcript before it does anything else, and how an
// attempt ends.
import type { Entry } from '../log/entries.ts';
import { mediaNote } from '../log/bodies.ts';
import { reasonOf } from '../../system/text.ts';
import type { LiveEvent, LiveWriter } from './events.ts';
import type { Hash } from '../../workflows/contract/ids.ts';

/** Watchers see prompts up to this many characters; the transcript has them whole. */
const LONGEST_SHOWN = 8_192;

export function announceEntries(live: LiveWriter, entries: readonly Entry[]): void {
  for (const entry of entries) {
    if (entry.kind === 'transition') {
      live.write({ type: 'transition', iteration: entry.iteration, reason: entry.reason });
    } else if (entry.kind === 'notice') {
      live.write({ type: 'notice', notice: entry.notice });
    } else if (entry.kind === 'steered') {
      live.write({ type: 'steered', steered: entry.steered });
    } else if (entry.kind === 'microcompact' || entry.kind === 'collapse_committed' || entry.kind === 'snip') {
      const { kind: type, ...facts } = entry;
      live.write({ type, ...facts } as LiveEvent);
    } else if (entry.kind === 'user') {
      const { body } = entry;
      const text = body.kind === 'text' ? body.text : `(a prompt of ${body.bytes} bytes)`;
      live.write({ type: 'user', id: entry.id, text: text.slice(0, LONGEST_SHOWN) + mediaNote(body) });
    }
  }
}

/**
 * Announces the boundary at position `at` of `entries`; does nothing when another entry is there
 * (L60).
 */
export function announceBoundary(live: LiveWriter, iteration: number, entries: readonly Entry[], at: number): void {
  const boundary = entries[at];
  if (boundary?.kind !== 'boundary') return;
  const { before, after, summary, from, prompts, signed: block, keepsThinking } = boundary;
  const remaining = at - from + prompts.length;
  const maker = { ...(block && { signed: true as const }), ...(keepsThinking && { keepsThinking }) };
  live.write({ type: 'compaction_end', iteration, before, after, kept: remaining, summary, ...maker });
}

type StepResult = { readonly kind: string; readonly head?: Hash; readonly detail?: string };

/** Errors that the loop may recover from are not told before recovery has failed (L17). */
const WITHHELD: readonly string[] = ['too_long', 'media_too_large'];

/**
 * Ends the attempt for watchers and returns `result`. Without a head its events are void, and its
 * detail, or else its kind, says why; `nothing` is what a stop leaves of a compaction (L47).
 */
export async function endWithResult<Result extends StepResult>(live: LiveWriter, result: Result): Promise<Result> {
  const { head } = result;
  if (head !== undefined) await live.end({ type: 'fate', fate: 'stored', head });
  else await live.end({ type: 'fate', fate: 'died', why: whyDied(result) });
  return result;
}

function whyDied({ kind, detail }: StepResult): string {
  if (WITHHELD.includes(kind)) return 'it is tried another way';
  return detail ?? (kind === 'nothing' ? 'cancelled' : kind);
}

/**
 * Runs `body`. When it throws, the watchers are first told that the attempt died, which voids its
 * events (L16).
 */
export async function endIfThrows<Result>(live: LiveWriter, body: () => Promise<Result>): Promise<Result> {
  try {
    return await body();
  } catch (error) {
    await live.end({ type: 'fate', fate: 'died', why: reasonOf(error) });
    throw error;
  }
}
