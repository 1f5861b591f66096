// Options and bounds of decisions about waiting calls (L55) and of answers to questions (L81).
import { LONGEST_REASON } from '../../workflows/contract/session.ts';
import { LARGEST_ANSWER } from '../../workflows/contract/people.ts';
import type { Abortable } from '../async.ts';

/**
 * `by` names the person who acts, for the transcript and for someone who decides second; at most
 * 200 characters. Absent: the client's name, or its identity.
 */
export type ActOptions = Abortable & { readonly by?: string };
/** `input` replaces what the model wrote and is validated again. */
export type ApproveOptions = ActOptions & { readonly input?: unknown };
/** `interrupt` ends the run with the denial (L34). */
export type DenyOptions = ActOptions & { readonly interrupt?: boolean };

/** Returns a sentence that says what is wrong with the answer, or undefined. */
export function answerProblem(text: string): string | undefined {
  if (text.trim() === '') return 'the answer is empty';
  const bytes = Buffer.byteLength(text);
  return bytes <= LARGEST_ANSWER ? undefined : `the answer has ${bytes} bytes: give at most ${LARGEST_ANSWER}`;
}

/** Returns a sentence that says what is wrong with the reason, or undefined. */
export function reasonProblem(reason: string): string | undefined {
  if (reason.trim() === '') return 'the reason is empty: the model is told why, so say it';
  if (reason.length <= LONGEST_REASON) return undefined;
  return `the reason has ${reason.length} characters: give at most ${LONGEST_REASON}`;
}
