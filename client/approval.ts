// A call that waits for a decision, with the input that is to be decided about (L55). Read from the memo and the store alone.
import { questionParts, type SessionId } from '../workflows/contract/ids.ts';
import type { PendingApproval } from '../workflows/contract/session.ts';
import { hashOf, type Store, StoreError } from '../activities/transcript/store/store.ts';
import { lastReply, type View } from '../activities/transcript/view/view.ts';

export type WaitingApproval = PendingApproval & {
  readonly session: SessionId;
  /** What the tool would be called with. */
  readonly input: unknown;
  /** Why `input` is not known for certain. */
  readonly problem?: string;
};

/** What a follower is told: a call waits, or waits no more. */
export type ApprovalEvent =
  | ({ readonly type: 'approval' } & WaitingApproval)
  | { readonly type: 'approval_settled'; readonly session: SessionId; readonly call: string };

/** `view`: the session at the approval's head. What cannot be read is told in `problem`. Throws StoreError `unavailable`. */
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
): Promise<Pick<WaitingApproval, 'input' | 'problem'>> {
  const block = lastReply(view)?.reply.message.content[index];
  if (block?.type !== 'tool_use') return { input: null, problem: 'its call is not in the transcript' };
  const { inputHash } = questionParts(question);
  if (inputHashOf(block.input) === inputHash) return { input: block.input };
  // A hook or a person may have put another in its place; that one is stored under its own hash.
  if (inputHash !== null && (await store.has(inputHash))) {
    return { input: JSON.parse(new TextDecoder().decode(await store.get(inputHash))) as unknown };
  }
  return { input: block.input, problem: 'this input was changed, and the one that would run is not stored' };
}

export function inputHashOf(input: unknown): string {
  return hashOf(Buffer.from(JSON.stringify(input)));
}
