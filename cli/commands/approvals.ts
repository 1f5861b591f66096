// perdure approvals: lists the calls that wait for a decision and the questions that wait for an
// answer, from the memo and the store alone (L55, L81).
import type { Command } from 'commander';
import type { OpenedServer, Paint, SessionId, WaitingApproval } from '../../client/faces/types.ts';
import { approvalWhat, approvalWhy } from '../../client/faces/words.ts';
import { shortAge, formatMoment } from '../../client/faces/basics.ts';
import { oneLine } from '../../client/faces/start.ts';
import { formatTable } from '../../client/faces/lists.ts';
import { jsonLine } from '../../system/text.ts';
import type { Cli } from '../cli.ts';
import { STATUS } from '../errors.ts';
import { withServer, withSession } from '../with-server.ts';

export function approvalsCommand(program: Command, cli: Cli): void {
  program
    .command('approvals')
    .description('decide waiting calls and questions one by one; without a terminal, list them')
    .argument('[id]', 'of this session only')
    .option('--list', 'only list them, at a terminal too')
    .option('--json', 'print one JSON object per call, with its whole input')
    .action(async (id: string | undefined, flags: ListFlags) => {
      cli.exit(await showApprovals(cli, id, flags));
    });
}

type ListFlags = { readonly json?: boolean; readonly list?: boolean };

async function showApprovals(
  cli: Cli,
  id: string | undefined,
  { json = false, list: only = false }: ListFlags,
): Promise<number> {
  const list = async (opened: OpenedServer, session?: SessionId): Promise<number> => {
    const { sessions } = opened;
    const waiting = await sessions.approvals(session);
    if (waiting.length > 0 && !json && !only && cli.isTerminal && cli.openInput !== null) {
      const { decideInTurn } = await import('../approving/ask-approvals.ts');
      await decideInTurn(cli, opened, waiting);
      return STATUS.ok;
    }
    if (json) for (const approval of waiting) cli.print(`${jsonLine(approval)}\n`);
    else if (waiting.length > 0) cli.print(approvalsTable(cli.out, waiting));
    const decide = `decide with: ${cli.self} approve ID CALL, or ${cli.self} deny ID CALL --reason "why"`;
    if (waiting.length === 0) cli.say(`no calls are waiting for a decision${await lastDecisionText(cli, opened)}`);
    if (waiting.some(({ question }) => !question)) cli.say(decide);
    if (waiting.some(({ question }) => question)) cli.say(`answer with: ${cli.self} answer ID CALL "your answer"`);
    return STATUS.ok;
  };
  return id === undefined ? withServer(cli, list) : withSession(cli, id, list);
}

/** Says at a terminal who decided last; a program gets nothing of it. */
async function lastDecisionText(cli: Cli, opened: OpenedServer): Promise<string> {
  if (!cli.isTerminal) return '';
  const { findLastDecision } = await import('../../client/faces/history.ts');
  const last = await findLastDecision(opened);
  if (!last) return '';
  const { decision, session, verb } = last;
  return `; the last one: ${oneLine(decision.by, 100)} ${verb} ${oneLine(session.title, 60)}, ${shortAge(Date.now() - decision.at)} ago`;
}

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
