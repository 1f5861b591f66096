// perdure approvals: lists the calls that wait for a decision and the questions that wait for an
// answer, from the memo and the store alone (L55, L81).
import type { Command } from 'commander';
import { approvalsTable } from '../../client/render/tables.ts';
import { jsonLine } from '../../system/text.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import type { Opened } from '../../client/runtime/open-server.ts';
import type { Cli } from '../cli.ts';
import { STATUS } from '../errors.ts';
import { withServer, withSession } from '../with-server.ts';

export function approvalsCommand(program: Command, cli: Cli): void {
  program
    .command('approvals')
    .description('list the calls that wait for a decision, and the questions that wait for an answer')
    .argument('[id]', 'of this session only')
    .option('--json', 'print one JSON object per call, with its whole input')
    .action(async (id: string | undefined, flags: { readonly json?: boolean }) => {
      cli.exit(await listApprovals(cli, id, flags.json ?? false));
    });
}

async function listApprovals(cli: Cli, id: string | undefined, json: boolean): Promise<number> {
  const list = async ({ sessions }: Opened, session?: SessionId): Promise<number> => {
    const waiting = await sessions.approvals(session);
    if (json) for (const approval of waiting) cli.print(`${jsonLine(approval)}\n`);
    else if (waiting.length > 0) cli.print(approvalsTable(cli.out, waiting));
    const decide = `decide with: ${cli.self} approve ID CALL, or ${cli.self} deny ID CALL --reason "why"`;
    if (waiting.length === 0) cli.say('there are no calls waiting for a decision');
    if (waiting.some(({ question }) => !question)) cli.say(decide);
    if (waiting.some(({ question }) => question)) cli.say(`answer with: ${cli.self} answer ID CALL "your answer"`);
    return STATUS.ok;
  };
  return id === undefined ? withServer(cli, list) : withSession(cli, id, list);
}
