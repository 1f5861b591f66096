// What a follower is told of calls that wait for a decision: that one waits, once, and that it waits no more (L55).
import type { PendingApproval } from '../workflows/contract/session.ts';
import type { ApprovalEvent, WaitingApproval } from './approval.ts';
import type { SessionDescription } from './session-info.ts';

export type ApprovalNews = (seen: SessionDescription) => AsyncIterable<ApprovalEvent>;

export function approvalNews(read: (pending: PendingApproval) => Promise<WaitingApproval>): ApprovalNews {
  /** By call, the input that was told of: an edited one may have to be decided about again. */
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
      yield { type: 'approval', ...(await read(pending)) };
    }
  };
}
