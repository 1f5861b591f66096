// perdure top-up: raises, sets or lowers limits of the current run.
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { STATUS, UsageError } from '../errors.ts';
import { limitsOf, type RunFlags } from '../run-options.ts';
import { topUpProblem } from '../../client/sessions/steer.ts';
import { withSession } from '../with-server.ts';
import type { TopUp } from '../../workflows/contract/session.ts';

type Flags = Pick<RunFlags, 'maxTurns' | 'maxBudgetUsd' | 'maxTokens' | 'timeout'> & {
  readonly exact?: boolean;
};

export function topUpCommand(program: Command, cli: Cli): void {
  program
    .command('top-up')
    .description('raise limits of the run under way; each is counted from the beginning of the run')
    .argument('<id>', 'the session')
    .option('--max-turns <n>', 'the number of turns it may take')
    .option('--max-budget-usd <x>', 'the US dollars it may cost')
    .option('--max-tokens <n>', 'the tokens of all kinds it may use')
    .option('--timeout <time>', 'the time it may take: 90s, 30m, 2h')
    .option('--exact', 'set them as given, also where that is lower, or where the run has no limit')
    .action(async (id: string, flags: Flags) => {
      cli.exit(await topUp(cli, id, flags));
    });
}

async function topUp(cli: Cli, id: string, flags: Flags): Promise<number> {
  const { exact, ...named } = flags;
  const limits: TopUp = { ...(limitsOf(named) as TopUp), ...(exact && { exact }) };
  const problem = topUpProblem(limits);
  if (problem !== undefined) throw new UsageError(problem);
  return withSession(cli, id, async ({ sessions }, session) => {
    await sessions.topUp(session, limits);
    cli.say(`session ${session} goes on with the new limits`);
    return STATUS.ok;
  });
}
