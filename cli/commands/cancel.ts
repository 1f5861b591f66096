// perdure cancel: ends what runs and closes the session; its transcript stays (L49).
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { stopSession } from '../stop-session.ts';

export function cancelCommand(program: Command, cli: Cli): void {
  program
    .command('cancel')
    .description('stop a session and close it for good')
    .argument('<id>', 'the session')
    .option('--wait', 'until it is done, however long it takes for a worker to come')
    .action(async (id: string, { wait = false }: { readonly wait?: boolean }) => {
      const status = await stopSession(cli, {
        id,
        wait,
        done: 'cancelled',
        already: ({ session, status: state }) => (state === 'open' ? null : `session ${session} is already closed`),
        ask: ({ sessions }, session) => sessions.cancel(session),
        isDone: ({ status: state }) => state !== 'open',
      });
      cli.exit(status);
    });
}
