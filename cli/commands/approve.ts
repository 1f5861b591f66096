// perdure approve: lets a waiting call run, as it is or with another input (L55).
import type { Command } from 'commander';
import type { ApproveOptions } from '../../client/sessions/decide.ts';
import type { Cli } from '../cli.ts';
import { type DecideSession, decideSession } from '../decide-session.ts';
import { type DecideMany, decideMany } from '../decide-many.ts';
import { UsageError } from '../errors.ts';
import { addFilterOptions, type FilterFlags, wantsMany } from '../many-sessions.ts';
import { parseCallInput } from '../approving/parse-input.ts';

/** The worker that runs the call checks the input, so it may refuse it later. */
const ASKED_AGAIN =
  '; if the tool refuses that input, the call does not run and waits again: `perdure approvals` says why';

export function approveCommand(program: Command, cli: Cli): void {
  const command = program
    .command('approve')
    .description('approve a call that waits for a decision; `perdure approvals` lists them')
    .argument('[id]', 'the session')
    .argument('[call]', 'the call, as `perdure approvals` names it')
    .option('--input <json>', 'run the call with this input instead, after checking it');
  addFilterOptions(command)
    .usage('[options] <id> <call>')
    .action(
      async (id: string | undefined, call: string | undefined, flags: FilterFlags & { readonly input?: string }) => {
        const input = flags.input === undefined ? {} : { input: parseCallInput(flags.input) };
        if (wantsMany(id, flags) !== null) {
          if (flags.input !== undefined) throw new UsageError('--input is for one call: leave --filter out');
          return cli.exit(await decideMany(cli, flags, APPROVING));
        }
        if (id === undefined || call === undefined)
          throw new UsageError('name the call: `perdure approvals` lists them');
        const options: ApproveOptions = input;
        const [done, after] =
          flags.input === undefined ? ['approved', ''] : ['approved with another input', ASKED_AGAIN];
        const act: DecideSession['act'] = (sessions, session) => sessions.approve(session, call, options);
        cli.exit(await decideSession(cli, { id, call, done, after, act }));
      },
    );
}

const APPROVING: DecideMany = {
  verb: 'approve',
  done: 'approved',
  act: ({ sessions }, { session, call }) => sessions.approve(session, call),
};
