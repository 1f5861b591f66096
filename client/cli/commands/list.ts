// perdure list: the sessions there are, newest first. From visibility alone.
import { type Command, InvalidArgumentError } from 'commander';
import type { SessionInfo } from '../../sessions/info.ts';
import { jsonLine } from '../../../activities/text.ts';
import { sessionTable } from '../../render/tables.ts';
import type { Cli } from '../cli.ts';
import { STATUS } from '../errors.ts';
import { withServer } from '../with-server.ts';

type Flags = { readonly json?: boolean; readonly limit: number };

export function listCommand(program: Command, cli: Cli): void {
  program
    .command('list')
    .description('list the sessions, newest first')
    .option('--limit <n>', 'how many to list at most', wholeNumber, 50)
    .option('--json', 'print one JSON object per session')
    .action(async (flags: Flags) => {
      cli.exit(await list(cli, flags));
    });
}

async function list(cli: Cli, { json, limit }: Flags): Promise<number> {
  return withServer(cli, async ({ sessions }) => {
    const found: SessionInfo[] = [];
    for await (const session of sessions.list()) if (found.push(session) > limit) break;
    const shown = found.slice(0, limit);
    if (json) for (const session of shown) cli.print(`${jsonLine(session)}\n`);
    else if (shown.length > 0) cli.print(sessionTable(cli.out, shown, Date.now()));
    if (shown.length === 0) cli.say(`no sessions yet: ${cli.self} run "your task"`);
    if (found.length > limit) cli.say(`more sessions exist: use --limit ${limit * 10}`);
    return STATUS.ok;
  });
}

export function wholeNumber(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < 1 || value > 1_000_000)
    throw new InvalidArgumentError('give a whole number from 1');
  return value;
}
