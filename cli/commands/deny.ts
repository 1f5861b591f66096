// perdure deny: refuses a call that waits for a decision; the model is told why (L55).
import type { Command } from 'commander';
import { reasonProblem } from '../../client/sessions/decide.ts';
import type { Cli } from '../cli.ts';
import { decideSession } from '../decide-session.ts';
import { UsageError } from '../errors.ts';

type Flags = { readonly reason: string; readonly interrupt?: boolean };

export function denyCommand(program: Command, cli: Cli): void {
  program
    .command('deny')
    .description('deny a call that waits for a decision; `perdure approvals` lists them')
    .argument('<id>', 'the session')
    .argument('<call>', 'the call, as `perdure approvals` names it')
    .requiredOption('--reason <text>', 'the reason, which the model is told')
    .option('--interrupt', 'also end the run')
    .action(async (id: string, call: string, { reason, interrupt = false }: Flags) => {
      const problem = reasonProblem(reason);
      if (problem !== undefined) throw new UsageError(problem);
      const done = interrupt ? 'denied, and the run ends' : 'denied';
      cli.exit(
        await decideSession(cli, {
          id,
          call,
          done,
          act: (sessions, session) => sessions.deny(session, call, reason, { interrupt }),
        }),
      );
    });
}
