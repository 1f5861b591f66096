// Measures a view in tokens, as the model's own API counts them. Four characters to a token is far
// off for some languages and for thinking: the count of the last reply, compared with the estimate
// of the same view, corrects it.
import type { RunConfig, RunModel } from '../../store/configuration.ts';
import type { LiveWriter } from '../../store/live/events.ts';
import { announceEntries } from '../../store/live/tell.ts';
import type { Bodies } from '../../store/log/bodies.ts';
import type { Entry } from '../../store/log/entries.ts';
import { countRequestCharacters } from '../../store/transcript/request-size.ts';
import type { ExtendedView, Transcripts } from '../../store/transcript/transcripts.ts';
import { isDamage } from '../../store/values/store.ts';
import { project } from '../../store/view/project.ts';
import type { ShrinkFirst, ShrunkResults } from '../../workflows/contract/activities.ts';
import type { Hash } from '../../workflows/contract/ids.ts';
import { CHARACTERS_PER_TOKEN, estimateTokens, totalTokens } from '../../workflows/contract/loop.ts';
import type { StepRecord } from '../step-record.ts';
import type { SummaryDeps } from './small-model.ts';

export type Scale = {
  /** Characters of one token in a model's window. */
  readonly charactersPerToken: number;
  /** Returns the tokens of a whole request with these entries. */
  tokens(entries: readonly Entry[], bodies: Bodies): number;
};

/**
 * Measures a view by the count of the last reply. Estimates stand where nothing was counted, and
 * are never lowered: a proxy may not count what it has cached.
 */
export async function measureScale(
  transcripts: Pick<Transcripts, 'bodies'>,
  entries: readonly Entry[],
  model: RunModel,
  { rules: { fixedTokens } }: Pick<RunConfig, 'rules'>,
): Promise<Scale> {
  const estimate = (view: readonly Entry[], bodies: Bodies): number => {
    const messages = project(view, bodies, { model });
    return fixedTokens + estimateTokens(countRequestCharacters(messages));
  };
  const last = entries.findLastIndex((entry) => entry.kind === 'reply' && totalTokens(entry.spend.usage) > 0);
  const counted = entries[last];
  const then = entries.slice(0, last + 1);
  const bodies = counted?.kind === 'reply' ? await readBodies(transcripts, then) : null;
  const ratio =
    counted?.kind === 'reply' && bodies ? totalTokens(counted.spend.usage) / Math.max(1, estimate(then, bodies)) : 1;
  const factor = Math.max(1, ratio);
  return {
    charactersPerToken: CHARACTERS_PER_TOKEN / factor,
    tokens: (view, texts) => Math.ceil(estimate(view, texts) * factor),
  };
}

/**
 * Returns null when an entry that has gone out of sight since is damaged: then the estimates stand.
 */
async function readBodies({ bodies }: Pick<Transcripts, 'bodies'>, entries: readonly Entry[]): Promise<Bodies | null> {
  try {
    return await bodies(entries);
  } catch (error) {
    if (isDamage(error)) return null;
    throw error;
  }
}

// Shrinks old tool results before a short form or a summary is made (L8): when that makes enough
// room, nothing else is done.
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
