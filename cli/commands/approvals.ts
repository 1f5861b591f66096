// perdure approvals: lists the calls that wait for a decision and the questions that wait for an
// answer, from the memo and the store alone (L55, L81).
import type { Command } from 'commander';
import { oneLine } from '../../client/paint.ts';
import { approvalsTable } from '../../client/render/approvals-table.ts';
import { shortAge } from '../../client/units.ts';
import { jsonLine } from '../../system/text.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import type { OpenedServer } from '../../client/face-types.ts';
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
    .action(async (id: string | undefined, flags: Flags) => {
      cli.exit(await showApprovals(cli, id, flags));
    });
}

type Flags = { readonly json?: boolean; readonly list?: boolean };

async function showApprovals(
  cli: Cli,
  id: string | undefined,
  { json = false, list: only = false }: Flags,
): Promise<number> {
  const list = async (opened: OpenedServer, session?: SessionId): Promise<number> => {
    const { sessions } = opened;
    const waiting = await sessions.approvals(session);
    if (waiting.length > 0 && !json && !only && cli.isTerminal && cli.openInput !== null) {
      const { decideInTurn } = await import('../approving/decide-in-turn.ts');
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
  const { findLastDecision } = await import('../../client/sessions/find/last-decision.ts');
  const last = await findLastDecision(opened);
  if (!last) return '';
  const { decision, session, verb } = last;
  return `; the last one: ${oneLine(decision.by, 100)} ${verb} ${oneLine(session.title, 60)}, ${shortAge(Date.now() - decision.at)} ago`;
}
