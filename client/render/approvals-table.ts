// Calls that wait for a decision, as a table.
import type { WaitingApproval } from '../sessions/decide.ts';
import { approvalWhat, approvalWhy } from './approval-text.ts';
import type { Paint } from './paint.ts';
import { oneLine } from './plain.ts';
import { table } from './table.ts';
import { moment } from './units.ts';

const HEADINGS = ['SESSION', 'CALL', 'TOOL', 'WAITING UNTIL', 'WHAT', 'REASON'] as const;

/** Ends with a line break. */
export function approvalsTable(paint: Paint, approvals: readonly WaitingApproval[]): string {
  const rows = approvals.map((approval) => [
    oneLine(approval.session, 200),
    oneLine(approval.call, 40),
    oneLine(approval.tool, 40),
    moment(approval.deadline),
    approvalWhat(approval),
    approvalWhy(approval),
  ]);
  return table(paint, HEADINGS, rows);
}
