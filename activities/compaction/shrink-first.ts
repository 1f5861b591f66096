// Shrinks old tool results before a short form or a summary is made (L8): when that makes enough
// room, nothing else is done.
import type { ShrinkFirst, ShrunkResults } from '../../workflows/contract/activities.ts';
import type { Hash } from '../../workflows/contract/ids.ts';
import type { LiveWriter } from '../../store/live/events.ts';
import { announceEntries } from '../../store/live/tell.ts';
import type { StepRecord } from '../step-record.ts';
import type { ExtendedView } from '../../store/transcript/transcripts.ts';
import type { RunModel } from '../../store/configuration.ts';
import type { SummaryDeps } from './small-model.ts';

/** `freed` is in tokens, 0 when it is not time to shrink. */
type Shrinking = { readonly base: ExtendedView; readonly freed: number };

/**
 * Shrinks old tool results before a short form or a summary is made (L8), as a model call would,
 * and records it the same way.
 */
export function shrinkFirst(
  { transcripts, now }: Pick<SummaryDeps, 'transcripts' | 'now'>,
  extended: ExtendedView,
  keeps: Pick<RunModel, 'checksPrefix'>,
): Shrinking {
  const base = transcripts.shrinkResults(extended, now(), keeps);
  const last = base === extended ? undefined : base.added.at(-1);
  return { base, freed: last?.kind === 'microcompact' ? last.freed : 0 };
}

export function isEnough({ freed }: Shrinking, { unlessFreed }: ShrinkFirst): boolean {
  return unlessFreed !== undefined && freed > unlessFreed;
}

/** Tells watchers what a step has stored besides what it was given; nothing without a head. */
export async function tellStored(
  { transcripts }: Pick<SummaryDeps, 'transcripts'>,
  live: LiveWriter,
  { view, added }: ExtendedView,
  result: { readonly kind: string; readonly head?: Hash },
): Promise<void> {
  if (result.head === undefined) return;
  announceEntries(live, (await transcripts.view(view.session, result.head)).from(view.length + added.length));
}

/** Stores the shrunk results. `came` makes the result of the step. */
export async function storeShrunk<Result>(
  { transcripts }: Pick<SummaryDeps, 'transcripts'>,
  record: StepRecord<Result>,
  { base, freed }: Shrinking,
  came: (marked: ShrunkResults) => Result,
): Promise<Result> {
  const next = transcripts.next(base, []);
  const { result, first } = await record.record(came({ head: next.hash, freed }), next.bytes);
  if (first) transcripts.keep(next);
  return result;
}
