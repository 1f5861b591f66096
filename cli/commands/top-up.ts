// perdure top-up: raises, sets or lowers limits of the current run.
import type { Command } from 'commander';
import { operations } from '../../client/operations/operations.ts';
import { LIMITS, type NewLimits } from '../../workflows/contract/run-options.ts';
import type { Cli } from '../cli.ts';
import { readFlags, RunFlag, type RunFlags } from '../run-options.ts';
import { steerSession } from '../steer-session.ts';

type Flags = Pick<RunFlags, keyof NewLimits> & { readonly exact?: true };

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
    .action(async (id: string, { exact, ...flags }: Flags) => {
      const limits = { ...(readFlags(flags, limitNames, cli.cwd) as NewLimits), ...(exact && { exact }) };
      const report = (session: string): void => cli.say(`session ${session} continues with the new limits`);
      cli.exit(await steerSession(cli, { id, operation: operations.topUp, request: { limits } }, report));
    });
}
