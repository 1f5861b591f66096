// Summarises what a compaction drops, and makes a boundary of the summary. The view with it must be
// smaller than the view before (L10).
// Writes one line for people about the batch of calls that has just run (L42). It stores nothing;
// if the model fails, the run continues without the line.
import type { RunConfig, RunModel } from '../../store/configuration.ts';
import { type Bodies, mediaOf } from '../../store/log/bodies.ts';
import type { BoundaryEntry, Entry } from '../../store/log/entries.ts';
import { readMarks } from '../../store/transcript/marks.ts';
import { entriesOf } from '../../store/transcript/transcripts.ts';
import { inView } from '../../store/view/in-view.ts';
import { taskListOf } from '../../store/view/task-list.ts';
import { wellFormedText } from '../../system/text.ts';
import type { BatchSummary, CompactionTrigger, SummarizeBatch } from '../../workflows/contract/activities.ts';
import { CHARACTERS_PER_TOKEN, costOf, estimateTokens, noUsage, type Spend } from '../../workflows/contract/loop.ts';
import type { Attempt } from '../attempt.ts';
import { refuseScriptedModel } from '../guards.ts';
import type { AskFailure, QuestionOutcome } from '../model/ask-model.ts';
import { fitText, groupBlocks } from './blocks.ts';
import type { KeptPart } from './choose-kept.ts';
import {
  BATCH_SYSTEM,
  BATCH_TASK,
  openSmallModel,
  type SmallModel,
  SUMMARY_SYSTEM,
  SUMMARY_TASK,
  type SummaryDeps,
  writeQuestion,
} from './small-model.ts';
import type { Scale } from './scale.ts';

type SummaryWork = {
  readonly entries: readonly Entry[];
  readonly bodies: Bodies;
  /** The model whose window must hold the result. */
  readonly model: RunModel;
  readonly scale: Scale;
  readonly trigger: CompactionTrigger;
  readonly keptPart: KeptPart;
  /** Tokens in context. */
  readonly before: number;
};

type BoundaryOrigin = Pick<BoundaryEntry, 'signed' | 'keepsThinking'>;

export type SummaryEnd =
  | { readonly kind: 'made'; readonly boundary: BoundaryEntry }
  | { readonly kind: 'failed'; readonly detail: string }
  /** The model that was asked gave no text: the small one, unless `model` names another. */
  | { readonly kind: 'unanswered'; readonly failure: AskFailure; readonly model?: string }
  /** Cancelled. */
  | { readonly kind: 'nothing' };

const MAX_SUMMARY_TOKENS = 8_000;
/** A summary is at most this share of the window it goes into. */
const SUMMARY_SHARE = 0.1;
/**
 * The number of times that material which the small model finds too long is shown to it again, each
 * time half as long.
 */
const HALVINGS = 3;

/**
 * Summarises with the small model; `more` are further instructions. Throws when the attempt is no
 * longer ours.
 */
export async function summarize(work: SummaryWork, small: SmallModel, more: readonly string[]): Promise<SummaryEnd> {
  const { bodies, model, keptPart, scale } = work;
  const maxTokens = Math.max(1, Math.min(MAX_SUMMARY_TOKENS, Math.floor(model.window * SUMMARY_SHARE)));
  const material = (characters: number): string => fitText(keptPart.old, keptPart.shrunkBefore, bodies, characters);
  const ask = (text: string): Promise<QuestionOutcome> =>
    small.ask({ system: SUMMARY_SYSTEM, text: writeQuestion(text, SUMMARY_TASK, more), maxTokens });
  const room = Math.max(0, small.room(maxTokens, scale.charactersPerToken) - questionOverhead(more));
  let text = material(room);
  let answer = await ask(text);
  // The real size of a window may not be known.
  for (let halved = 0; halved < HALVINGS && isTooLong(answer); halved += 1) {
    text = material(Math.floor(text.length / 2));
    answer = await ask(text);
  }
  if (answer.kind === 'aborted') return { kind: 'nothing' };
  if (answer.kind === 'failed') return { kind: 'unanswered', failure: answer.failure };
  return makeBoundaryIfSmaller(work, answer.cut ? `${answer.text}\n[The summary was cut here.]` : answer.text);
}

function isTooLong(answer: QuestionOutcome): boolean {
  return answer.kind === 'failed' && answer.failure.kind === 'too_long';
}

function questionOverhead(more: readonly string[]): number {
  return writeQuestion('', SUMMARY_TASK, more).length + SUMMARY_SYSTEM.length;
}

/**
 * Makes a boundary if it is smaller than what was there. `by` is stored with a summary that the API
 * made.
 */
export function makeBoundaryIfSmaller(work: SummaryWork, summary: string, by: BoundaryOrigin = {}): SummaryEnd {
  const { entries, bodies, scale, trigger, before } = work;
  const { from, prompts } = work.keptPart;
  const tasks = taskListOf(entries);
  const listed = tasks === null ? {} : { tasks };
  // A summary that the API has signed changes nothing of what is kept.
  const bareBefore = trigger === 'reactive' && !by.signed ? findMediaLimit(entries) : readMarks(entries).bareBefore;
  const bare = bareBefore > 0 && entries.some((entry) => mediaOf(entry).length > 0) ? { bareBefore } : {};
  const extras = { ...listed, ...bare, ...by };
  const boundary = { kind: 'boundary', trigger, summary, prompts, from, before, ...extras } as const;
  const after = scale.tokens([...entries, { ...boundary, after: 0 }], bodies);
  if (after < before) return { kind: 'made', boundary: { ...boundary, after } };
  return {
    kind: 'failed',
    detail: `the summary saves nothing: about ${before} tokens before it, about ${after} with it`,
  };
}

/**
 * Returns the position before which images and documents go when a request was refused: the oldest,
 * which the model has answered. The newest are what it was just asked about; they go as well where
 * there are no others.
 */
export function findMediaLimit(entries: readonly Entry[]): number {
  const answered = entries.findLastIndex(({ kind }) => kind === 'reply');
  const { shown: parts } = inView(entries);
  const others = parts.some(
    (each) => each.kind === 'entry' && !each.bare && each.position < answered && mediaOf(each.entry).length > 0,
  );
  return others ? answered : entries.length;
}

const MAX_TOKENS = 100;
/** Characters of the batch that the small model reads: it is to cost little. */
const MATERIAL = 12_000;
/** Characters of the line. */
const LINE = 120;

export function summarizeBatch(deps: SummaryDeps): (attempt: Attempt, input: SummarizeBatch) => Promise<BatchSummary> {
  return async (attempt, input) => {
    const config = await deps.config(input.config);
    refuseScriptedModel(deps, config);
    const small = openSmallModel(deps, attempt, config, input);
    const entries = entriesOf(await deps.transcripts.extend(attempt.session, input.head, input.append));
    const { shown: parts } = inView(entries);
    const last = parts.findLastIndex((each) => each.kind === 'entry' && each.entry.kind === 'reply');
    if (last < 0) return { text: null, spend: small.spend() };
    const bodies = await deps.transcripts.bodies(entries);
    const [batch] = groupBlocks({ parts: parts.slice(last), shrunkBefore: 0, bodies }, []);
    const material = fitText(
      batch?.items ?? [],
      0,
      bodies,
      Math.min(MATERIAL, small.room(MAX_TOKENS, CHARACTERS_PER_TOKEN)),
    );
    const text = writeQuestion(material, BATCH_TASK);
    const answer = await small.ask({ system: BATCH_SYSTEM, text, maxTokens: MAX_TOKENS });
    return { text: answer.kind === 'text' ? firstLine(answer.text) : null, spend: small.spend() };
  };
}

/** Returns the largest possible cost of a batch summary. */
export function largestSummarySpend({ price }: Pick<RunConfig['smallModel'], 'price'>): Spend {
  const characters = BATCH_SYSTEM.length + writeQuestion('', BATCH_TASK).length + MATERIAL;
  const usage = { ...noUsage, input: estimateTokens(characters), output: MAX_TOKENS };
  return { usage, usd: price && costOf(usage, price) };
}

function firstLine(text: string): string | null {
  const first = wellFormedText(text).split('\n')[0]?.trim() ?? '';
  if (first === '') return null;
  return first.length <= LINE ? first : `${wellFormedText(first.slice(0, LINE - 1))}…`;
}
