// Puts calls that wait for a decision to a function of the program, for query() (L55). Who decides elsewhere is heeded: what the
// function then says no longer counts.
import type { ApprovalEvent, WaitingApproval } from './approval.ts';
import type { PerdureClient } from './client.ts';
import { ClientProblem } from './problem.ts';

/** `input`: runs with this instead of what the model wrote. `interrupt`: the run ends with the denial (L34). */
export type ApprovalAnswer =
  | { readonly kind: 'allow'; readonly input?: unknown }
  | { readonly kind: 'deny'; readonly reason: string; readonly interrupt?: boolean };

/** `signal`: aborted when nobody waits for the answer any more. */
export type OnApproval = (
  approval: WaitingApproval,
  asked: { readonly signal: AbortSignal },
) => ApprovalAnswer | Promise<ApprovalAnswer>;

export type AnswerApprovals = {
  hear(event: ApprovalEvent): void;
  /** Aborted with what the function threw, or why its answer could not be given. */
  readonly failed: AbortSignal;
  /** Answers that are still to come are passed over. */
  stop(): void;
};

type Sessions = Pick<PerdureClient, 'approvals' | 'approve' | 'deny'>;

export function answerApprovals(sessions: Sessions, onApproval: OnApproval): AnswerApprovals {
  const open = new Map<string, AbortController>();
  const failure = new AbortController();
  return {
    failed: failure.signal,
    hear: (event) => {
      open.get(event.call)?.abort();
      open.delete(event.call);
      if (event.type === 'approval_settled') return;
      const { type: _, ...approval } = event;
      const gone = new AbortController();
      open.set(event.call, gone);
      answer(sessions, onApproval, approval, gone.signal).catch((error: unknown) => {
        if (!gone.signal.aborted) failure.abort(error);
      });
    },
    stop: () => {
      for (const gone of open.values()) gone.abort();
      open.clear();
    },
  };
}

async function answer(
  sessions: Sessions,
  onApproval: OnApproval,
  approval: WaitingApproval,
  signal: AbortSignal,
): Promise<void> {
  const { session, call } = approval;
  const said = await onApproval(approval, { signal });
  if (signal.aborted) return;
  try {
    if (said.kind === 'allow') await sessions.approve(session, call, said);
    else await sessions.deny(session, call, said.reason, said);
  } catch (error) {
    // Someone else may have been faster.
    if (error instanceof ClientProblem && !(await waits(sessions, approval))) return;
    throw error;
  }
}

async function waits(sessions: Sessions, { session, call }: WaitingApproval): Promise<boolean> {
  return (await sessions.approvals(session)).some((waiting) => waiting.call === call);
}
