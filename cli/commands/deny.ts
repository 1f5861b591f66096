// perdure deny: refuses a call that waits for a decision; the model is told why (L55).
import type { Command } from 'commander';
import { reasonProblem } from '../../client/sessions/decide.ts';
import type { Cli } from '../cli.ts';
import { decideMany } from '../decide-many.ts';
import { type DecideSession, decideSession } from '../decide-session.ts';
import { addFilterOptions, type FilterFlags, wantsMany } from '../many-sessions.ts';
import { UsageError } from '../errors.ts';

type Flags = FilterFlags & { readonly reason: string; readonly interrupt?: boolean };

export function denyCommand(program: Command, cli: Cli): void {
  const command = program
    .command('deny')
    .description('deny a call that waits for a decision; `perdure approvals` lists them')
    .argument('[id]', 'the session')
    .argument('[call]', 'the call, as `perdure approvals` names it')
    .requiredOption('--reason <text>', 'the reason, which the model is told')
    .option('--interrupt', 'also end the run');
  addFilterOptions(command)
    .usage('[options] <id> <call>')
    .action(
      async (id: string | undefined, call: string | undefined, { reason, interrupt = false, ...flags }: Flags) => {
        const problem = reasonProblem(reason);
        if (problem !== undefined) throw new UsageError(problem);
        const done = interrupt ? 'denied, and the run ends' : 'denied';
        if (wantsMany(id, flags) !== null)
          return cli.exit(
            await decideMany(cli, flags, {
              verb: 'deny',
              done,
              act: ({ sessions }, { session, call: one }) => sessions.deny(session, one, reason, { interrupt }),
            }),
          );
        if (id === undefined || call === undefined)
          throw new UsageError('name the call: `perdure approvals` lists them');
        const act: DecideSession['act'] = (sessions, session) => sessions.deny(session, call, reason, { interrupt });
        cli.exit(await decideSession(cli, { id, call, done, act }));
      },
    );
}
