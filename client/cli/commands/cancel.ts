// perdure cancel: ends what runs and closes the session; its transcript stays (L49).
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { sessionArgument } from '../arguments.ts';
import { stopSession } from '../stop-session.ts';

export function cancelCommand(program: Command, cli: Cli): void {
  program
    .command('cancel')
    .description('stop a session and close it for good')
    .argument('<id>', 'the session')
    .action(async (id: string) => {
      const session = sessionArgument(id);
      const status = await stopSession(cli, {
        session,
        done: 'cancelled',
        already: ({ status: state }) => (state === 'open' ? null : `session ${session} is already closed`),
        ask: ({ sessions }) => sessions.cancel(session),
        isDone: ({ status: state }) => state !== 'open',
      });
      cli.exit(status);
    });
}
