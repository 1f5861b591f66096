// Turns looks into events about calls that wait for a decision: one when a call starts to wait, one
// when it no longer does (L55).
import type { ApprovalEvent, WaitingApproval } from '../sessions/waiting-approval.ts';
import type { SessionDescription } from '../sessions/info.ts';
import type { PendingApproval } from '../../workflows/contract/session.ts';

type ApprovalNews = (seen: Pick<SessionDescription, 'session' | 'approvals'>) => AsyncIterable<ApprovalEvent>;

export function watchApprovals(read: (pending: PendingApproval) => Promise<WaitingApproval>): ApprovalNews {
  /** Input hash by call, as it was told: an edited input may need another decision. */
  const told = new Map<string, string>();
  return async function* ({ session, approvals = [] }) {
    const waiting = new Map(approvals.map((pending) => [pending.call, pending]));
    for (const [call, inputHash] of told) {
      if (waiting.get(call)?.inputHash === inputHash) continue;
      told.delete(call);
      yield { type: 'approval_settled', session, call };
    }
    for (const pending of approvals) {
      if (told.has(pending.call)) continue;
      told.set(pending.call, pending.inputHash);
      yield { type: pending.question ? 'question' : 'approval', ...(await read(pending)) };
    }
  };
}
