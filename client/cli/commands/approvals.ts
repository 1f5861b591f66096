// perdure approvals: the calls that wait for a decision, from the memo and the store alone (L55).
import type { Command } from 'commander';
import { approvalsTable } from '../../render/tables.ts';
import { jsonLine } from '../../../activities/text.ts';
import type { Cli } from '../cli.ts';
import { STATUS } from '../errors.ts';
import { sessionArgument } from '../arguments.ts';
import { withServer } from '../with-server.ts';

export function approvalsCommand(program: Command, cli: Cli): void {
  program
    .command('approvals')
    .description('list the calls that wait for a decision')
    .argument('[id]', 'of this session only')
    .option('--json', 'print one JSON object per call, with its whole input')
    .action(async (id: string | undefined, flags: { readonly json?: boolean }) => {
      cli.exit(await approvals(cli, id, flags.json ?? false));
    });
}

async function approvals(cli: Cli, id: string | undefined, json: boolean): Promise<number> {
  const session = id === undefined ? undefined : sessionArgument(id);
  return withServer(cli, async ({ sessions }) => {
    const waiting = await sessions.approvals(session);
    if (json) for (const approval of waiting) cli.print(`${jsonLine(approval)}\n`);
    else if (waiting.length > 0) cli.print(approvalsTable(cli.out, waiting));
    const decide = `${cli.self} approve ID CALL, or ${cli.self} deny ID CALL --reason "why"`;
    cli.say(waiting.length === 0 ? 'there are no calls waiting for a decision' : `decide with: ${decide}`);
    return STATUS.ok;
  });
}
