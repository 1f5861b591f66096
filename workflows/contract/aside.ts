// A question that a person asks aside: the session's own model answers it from what it knows by now,
// and the conversation keeps no trace of it.
import type { Usage } from './loop.ts';

/** Characters of a question, and of what is kept of its answer. */
export const LONGEST_ASIDE = 10_000;
export const LONGEST_ASIDE_ANSWER = 20_000;

/** At a time, in one session. */
export const MOST_ASIDES = 3;

export type AskAside = { readonly question: string };

/**
 * `cut`: there was more of it than is kept, or than the model may say at once. `usd`: null when a
 * price is not known.
 */
export type AsideAnswer = {
  readonly text: string;
  readonly cut: boolean;
  readonly model: string;
  readonly usage: Usage;
  readonly usd: number | null;
};

/** A sentence, or undefined. */
export function asideProblem(question: unknown): string | undefined {
  if (typeof question !== 'string' || question.trim() === '') return 'the question is empty';
  if (question.length <= LONGEST_ASIDE) return undefined;
  return `the question has ${question.length} characters: give at most ${LONGEST_ASIDE}`;
}
