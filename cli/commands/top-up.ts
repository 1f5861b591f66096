// perdure top-up: raises limits of the current run.
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { STATUS, UsageError } from '../errors.ts';
import { limitsOf, type RunFlags } from '../run-options.ts';
import { topUpProblem } from '../../client/sessions/steer.ts';
import { withSession } from '../with-server.ts';
import type { TopUp } from '../../workflows/contract/session.ts';

type Flags = Pick<RunFlags, 'maxTurns' | 'maxBudgetUsd' | 'maxTokens' | 'timeout'>;

export function topUpCommand(program: Command, cli: Cli): void {
  program
    .command('top-up')
    .description('raise limits of the run under way; each is counted from the beginning of the run')
    .argument('<id>', 'the session')
    .option('--max-turns <n>', 'the number of turns it may take')
    .option('--max-budget-usd <x>', 'the US dollars it may cost')
    .option('--max-tokens <n>', 'the tokens of all kinds it may use')
    .option('--timeout <time>', 'the time it may take: 90s, 30m, 2h')
    .action(async (id: string, flags: Flags) => {
      cli.exit(await topUp(cli, id, flags));
    });
}

async function topUp(cli: Cli, id: string, flags: Flags): Promise<number> {
  const limits = limitsOf(flags) as TopUp;
  const problem = topUpProblem(limits);
  if (problem !== undefined) throw new UsageError(problem);
  return withSession(cli, id, async ({ sessions }, session) => {
    await sessions.topUp(session, limits);
    cli.say(`session ${session} goes on with the new limits`);
    return STATUS.ok;
  });
}
