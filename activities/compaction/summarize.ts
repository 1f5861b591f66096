// From what does not stay to a boundary: it is summarised, and what comes of it must be smaller than what was there (L10).
import type { Asked, AskFailure } from '../model/ask-model.ts';
import type { RunModel } from '../run-config.ts';
import type { BoundaryEntry, Entry } from '../transcript/log/entries.ts';
import type { Bodies } from '../transcript/view/project.ts';
import type { Kept } from './choose-kept.ts';
import { fitText } from './fit-text.ts';
import { question, SUMMARY_SYSTEM, SUMMARY_TASK } from './instructions.ts';
import type { Scale } from './scale.ts';
import type { SmallModel } from './small-model.ts';

export type Summarizing = {
  readonly entries: readonly Entry[];
  readonly bodies: Bodies;
  /** Whose window must hold the result. */
  readonly model: RunModel;
  readonly scale: Scale;
  readonly trigger: 'auto' | 'reactive';
  readonly kept: Kept;
  /** Tokens in context. */
  readonly before: number;
};

export type Summarized =
  | { readonly kind: 'made'; readonly boundary: BoundaryEntry }
  | { readonly kind: 'failed'; readonly detail: string }
  /** The small model gave no text. */
  | { readonly kind: 'unanswered'; readonly failure: AskFailure }
  /** Cancelled. */
  | { readonly kind: 'nothing' };

const MAX_SUMMARY_TOKENS = 8_000;
/** A summary is at most this share of the window it goes into. */
const SUMMARY_SHARE = 0.1;
/** How often what the small model finds too long is shown to it again, each time half as long. */
const HALVINGS = 3;

/** `more`: instructions beside ours. Throws when the attempt is no longer ours. */
export async function summarize(work: Summarizing, small: SmallModel, more: readonly string[]): Promise<Summarized> {
  const { bodies, model, kept, scale } = work;
  const maxTokens = Math.max(1, Math.min(MAX_SUMMARY_TOKENS, Math.floor(model.window * SUMMARY_SHARE)));
  const material = (characters: number): string => fitText(kept.old, kept.shrunkBefore, bodies, characters);
  const ask = (text: string): Promise<Asked> =>
    small.ask({ system: SUMMARY_SYSTEM, text: question(text, SUMMARY_TASK, more), maxTokens });
  const room = Math.max(0, small.room(maxTokens, scale.charactersPerToken) - overhead(more));
  let text = material(room);
  let asked = await ask(text);
  // Nobody may know what its window really is.
  for (let halved = 0; halved < HALVINGS && isTooLong(asked); halved += 1) {
    text = material(Math.floor(text.length / 2));
    asked = await ask(text);
  }
  if (asked.kind === 'aborted') return { kind: 'nothing' };
  if (asked.kind === 'failed') return { kind: 'unanswered', failure: asked.failure };
  return strictlySmaller(work, asked.cut ? `${asked.text}\n[The summary was cut here.]` : asked.text);
}

function isTooLong(asked: Asked): boolean {
  return asked.kind === 'failed' && asked.failure.kind === 'too_long';
}

function overhead(more: readonly string[]): number {
  return question('', SUMMARY_TASK, more).length + SUMMARY_SYSTEM.length;
}

function strictlySmaller(work: Summarizing, summary: string): Summarized {
  const { entries, bodies, scale, trigger, before } = work;
  const { from, prompts } = work.kept;
  const boundary = { kind: 'boundary', trigger, summary, prompts, from, before } as const;
  const after = scale.tokens([...entries, { ...boundary, after: 0 }], bodies);
  if (after < before) return { kind: 'made', boundary: { ...boundary, after } };
  return {
    kind: 'failed',
    detail: `the summary saves nothing: about ${before} tokens before it, about ${after} with it`,
  };
}
