// perdure interrupt: ends what runs; the session stays open for the next message (L47, L48).
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { stopSession } from '../stop-session.ts';

export function interruptCommand(program: Command, cli: Cli): void {
  program
    .command('interrupt')
    .description('stop the current run; the session stays open for more')
    .argument('<id>', 'the session')
    .option('--wait', 'until it is done, however long it takes for a worker to come')
    .action(async (id: string, { wait = false }: { readonly wait?: boolean }) => {
      const status = await stopSession(cli, {
        id,
        wait,
        done: 'interrupted',
        already: ({ session, phase, unseen }) =>
          phase === 'idle' && !unseen ? `session ${session} has no run to interrupt` : null,
        ask: ({ sessions }, session) => sessions.interrupt(session),
        isDone: (now, before) => now.phase === 'closed' || (now.last?.run ?? 0) > (before.last?.run ?? 0),
      });
      cli.exit(status);
    });
}
