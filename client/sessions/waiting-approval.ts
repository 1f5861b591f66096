// A call that waits for a decision, with the input to decide about (L55). It is read from the memo
// and the store alone.
// Options and bounds of decisions about waiting calls (L55) and of answers to questions (L81).
import { hashOf, type Store, StoreError } from '../../store/values/store.ts';
import { lastReply, type View } from '../../store/view/view.ts';
import { questionParts, type SessionId } from '../../workflows/contract/ids.ts';
import { LARGEST_ANSWER } from '../../workflows/contract/people.ts';
import { LONGEST_REASON, type PendingApproval } from '../../workflows/contract/session.ts';
import type { Abortable } from '../async.ts';

export type WaitingApproval = PendingApproval & {
  readonly session: SessionId;
  /** The model's own id of the call; absent when it cannot be read. */
  readonly toolUseId?: string;
  /** The input that the tool would get. */
  readonly input: unknown;
  /** Says why `input` is not known for certain. */
  readonly problem?: string;
};

/**
 * Events for a follower: a call waits for a decision, a question waits for an answer, or one no
 * longer waits.
 */
export type ApprovalEvent =
  | ({ readonly type: 'approval' | 'question' } & WaitingApproval)
  | { readonly type: 'approval_settled'; readonly session: SessionId; readonly call: string };

export function isApprovalEvent<Event extends { readonly type: string }>(event: Event): event is Event & ApprovalEvent {
  return event.type === 'approval' || event.type === 'question' || event.type === 'approval_settled';
}

/**
 * Adds its input to a pending approval. `view` reads the session at the approval's head. `problem`
 * says what cannot be read. Throws StoreError `unavailable`.
 */
export async function waitingApproval(
  store: Store,
  view: () => Promise<View>,
  session: SessionId,
  pending: PendingApproval,
): Promise<WaitingApproval> {
  try {
    return { ...pending, session, ...(await inputOf(store, await view(), pending)) };
  } catch (error) {
    if (!(error instanceof StoreError) || error.problem === 'unavailable') throw error;
    return { ...pending, session, input: null, problem: `its input cannot be read: ${error.message}` };
  }
}

async function inputOf(
  store: Store,
  view: View,
  { index, inputHash: question }: PendingApproval,
): Promise<Pick<WaitingApproval, 'input' | 'problem' | 'toolUseId'>> {
  const block = lastReply(view)?.reply.message.content[index];
  if (block?.type !== 'tool_use') return { input: null, problem: 'its call is not in the transcript' };
  const { inputHash } = questionParts(question);
  const { id: toolUseId } = block;
  if (inputHashOf(block.input) === inputHash) return { toolUseId, input: block.input };
  // A hook or a person may have replaced the input; the new one is stored under its own hash.
  if (inputHash !== null && (await store.has(inputHash))) {
    return { toolUseId, input: JSON.parse(new TextDecoder().decode(await store.get(inputHash))) as unknown };
  }
  return { toolUseId, input: block.input, problem: 'this input was changed, and the one that would run is not stored' };
}

export function inputHashOf(input: unknown): string {
  return hashOf(Buffer.from(JSON.stringify(input)));
}

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
