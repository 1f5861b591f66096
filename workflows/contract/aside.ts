// A question that a person asks aside: the session's own model answers it from what it knows by
// now, and the conversation keeps no trace of it.
import type { Usage } from './loop.ts';

/** Characters of a question, and of the part of its answer that is kept. */
export const LONGEST_ASIDE = 10_000;
export const LONGEST_ASIDE_ANSWER = 20_000;

/** Questions at a time, in one session. */
export const MOST_ASIDES = 3;

export type AskAside = { readonly question: string };

/**
 * `cut`: the answer was longer than what is kept, or than the model may say at once. `usd`: US
 * dollars, null when a price is unknown.
 */
export type AsideAnswer = {
  readonly text: string;
  readonly cut: boolean;
  readonly model: string;
  readonly usage: Usage;
  readonly usd: number | null;
};

/** Returns a sentence that says what is wrong with the question, or undefined. */
export function asideProblem(question: unknown): string | undefined {
  if (typeof question !== 'string' || question.trim() === '') return 'the question is empty';
  if (question.length <= LONGEST_ASIDE) return undefined;
  return `the question has ${question.length} characters: give at most ${LONGEST_ASIDE}`;
}
