// Formats waiting calls as a table.
import { type Paint, oneLine } from '../paint.ts';
import type { WaitingApproval } from '../sessions/waiting-approval.ts';
import { formatMoment } from '../units.ts';
import { approvalWhat, approvalWhy } from './approval-text.ts';
import { formatTable } from './tables.ts';

const APPROVAL_HEADINGS = ['SESSION', 'CALL', 'TOOL', 'WAITING UNTIL', 'WHAT', 'REASON'] as const;

/** Formats calls that wait for a decision. Ends with a line break. */
export function approvalsTable(paint: Paint, approvals: readonly WaitingApproval[]): string {
  const rows = approvals.map((approval) => [
    oneLine(approval.session, 200),
    oneLine(approval.call, 40),
    oneLine(approval.tool, 40),
    formatMoment(approval.deadline),
    approvalWhat(approval),
    approvalWhy(approval),
  ]);
  return formatTable(paint, APPROVAL_HEADINGS, rows);
}
