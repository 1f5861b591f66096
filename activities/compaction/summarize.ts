// From the entries in view to a boundary: what stays is chosen, the rest is summarised, and what comes of it must be smaller than
// what was there (L10).
import type { Asked, AskFailure } from '../model/ask-model.ts';
import type { RunModel } from '../run-config.ts';
import { estimateTokens } from '../../workflows/contract/tokens.ts';
import type { BoundaryEntry, Entry } from '../transcript/entries.ts';
import { type Bodies, project } from '../transcript/project.ts';
import { chooseKept, type Kept } from './choose-kept.ts';
import { fitText } from './fit-text.ts';
import { question, SUMMARY_SYSTEM, SUMMARY_TASK } from './instructions.ts';
import type { SmallModel } from './small-model.ts';

export type Summarizing = {
  readonly entries: readonly Entry[];
  readonly bodies: Bodies;
  /** Whose window must hold the result. */
  readonly model: RunModel;
  /** Of the system prompt and the tools: part of every request. */
  readonly fixedTokens: number;
  readonly trigger: 'auto' | 'reactive';
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

/** `instructions` are added to ours, given the tokens in context. Throws when the attempt is no longer ours. */
export async function summarize(
  work: Summarizing,
  small: SmallModel,
  instructions: (tokens: number) => Promise<readonly string[]>,
): Promise<Summarized> {
  const { entries, bodies, model, trigger } = work;
  const before = measured(work, []);
  const kept = chooseKept(entries, bodies, { window: model.window, trigger });
  if (!kept) return { kind: 'failed', detail: 'nothing older than the newest messages is there to be summarised' };
  const more = await instructions(before);
  const maxTokens = Math.max(1, Math.min(MAX_SUMMARY_TOKENS, Math.floor(model.window * SUMMARY_SHARE)));
  const room = Math.max(0, small.room(maxTokens) - overhead(more));
  const ask = (characters: number): Promise<Asked> => {
    const material = fitText(kept.old, kept.shrunkBefore, bodies, characters);
    return small.ask({ system: SUMMARY_SYSTEM, text: question(material, SUMMARY_TASK, more), maxTokens });
  };
  let asked = await ask(room);
  // Characters say little of tokens in some languages: half of it fits where the whole was thought to.
  if (asked.kind === 'failed' && asked.failure.kind === 'too_long') asked = await ask(room / 2);
  if (asked.kind === 'aborted') return { kind: 'nothing' };
  if (asked.kind === 'failed') return { kind: 'unanswered', failure: asked.failure };
  return strictlySmaller(work, kept, before, asked.cut ? `${asked.text}\n[The summary was cut here.]` : asked.text);
}

function overhead(more: readonly string[]): number {
  return question('', SUMMARY_TASK, more).length + SUMMARY_SYSTEM.length;
}

function strictlySmaller(work: Summarizing, { from, prompts }: Kept, before: number, summary: string): Summarized {
  const boundary = { kind: 'boundary', trigger: work.trigger, summary, prompts, from, before } as const;
  const after = measured(work, [{ ...boundary, after: 0 }]);
  if (after < before) return { kind: 'made', boundary: { ...boundary, after } };
  return {
    kind: 'failed',
    detail: `the summary saves nothing: about ${before} tokens before it, about ${after} with it`,
  };
}

/** Tokens of the request, estimated. */
function measured({ entries, bodies, model, fixedTokens }: Summarizing, more: readonly Entry[]): number {
  const messages = project([...entries, ...more], bodies, { model: model.name });
  return fixedTokens + estimateTokens(JSON.stringify(messages).length);
}
