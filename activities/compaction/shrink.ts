// Old tool results are shrunk before a short form or a summary is made (L8): when that makes enough room, nothing else is done.
import type { ShrinkFirst, ShrunkResults } from '../../workflows/contract/activities.ts';
import type { StepRecord } from '../step-record.ts';
import type { Extended } from '../transcript/transcripts.ts';
import type { SummaryDeps } from './small-model.ts';

/** `freed`: tokens, 0 when it is not time for it. */
export type ShrunkFirst = { readonly base: Extended; readonly freed: number };

/** As a model call would do it, and recorded the same way. */
export function shrinkFirst(
  { transcripts, now }: Pick<SummaryDeps, 'transcripts' | 'now'>,
  given: Extended,
): ShrunkFirst {
  const base = transcripts.prepared(given, now());
  const last = base === given ? undefined : base.added.at(-1);
  return { base, freed: last?.kind === 'microcompact' ? last.freed : 0 };
}

export function isEnough({ freed }: ShrunkFirst, { unlessFreed }: ShrinkFirst): boolean {
  return unlessFreed !== undefined && freed > unlessFreed;
}

/** `came`: what the step has come to with it. */
export async function storeShrunk<Result>(
  { transcripts }: Pick<SummaryDeps, 'transcripts'>,
  record: StepRecord<Result>,
  { base, freed }: ShrunkFirst,
  came: (marked: ShrunkResults) => Result,
): Promise<Result> {
  const next = transcripts.next(base, []);
  const { result, first } = await record.record(came({ head: next.hash, freed }), next.bytes);
  if (first) transcripts.keep(next);
  return result;
}
