// perdure top-up: raises, sets or lowers limits of the current run.
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { STATUS, UsageError } from '../errors.ts';
import { LIMITS, type NewLimits } from '../../workflows/contract/run-options.ts';
import { readFlags, RunFlag, type RunFlags } from '../run-options.ts';
import { topUpProblem } from '../../client/sessions/steer.ts';
import { withSession } from '../with-server.ts';
import type { TopUp } from '../../workflows/contract/session.ts';

type Flags = Pick<RunFlags, keyof NewLimits> & { readonly exact?: boolean };

const limitNames = Object.keys(LIMITS) as readonly (keyof NewLimits)[];

export function topUpCommand(program: Command, cli: Cli): void {
  const command = program
    .command('top-up')
    .description('raise limits of the current run; each counts from the start of the run')
    .argument('<id>', 'the session');
  for (const name of limitNames) {
    const { flag = '', raises, hint = '' } = LIMITS[name];
    command.addOption(new RunFlag(name, flag, `${raises}${hint}`));
  }
  command
    .option('--exact', 'set them as given, also where that is lower, or where the run has no limit')
    .action(async (id: string, flags: Flags) => {
      cli.exit(await topUp(cli, id, flags));
    });
}

async function topUp(cli: Cli, id: string, flags: Flags): Promise<number> {
  const { exact, ...named } = flags;
  const limits: TopUp = { ...(readFlags(named, limitNames, cli.cwd) as TopUp), ...(exact && { exact }) };
  const problem = topUpProblem(limits);
  if (problem !== undefined) throw new UsageError(problem);
  return withSession(cli, id, async ({ sessions }, session) => {
    await sessions.topUp(session, limits);
    cli.say(`session ${session} continues with the new limits`);
    return STATUS.ok;
  });
}
