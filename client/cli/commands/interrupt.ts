// perdure interrupt: ends what runs; the session stays open for the next message (L47, L48).
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { sessionArgument } from '../arguments.ts';
import { stopSession } from '../stop-session.ts';

export function interruptCommand(program: Command, cli: Cli): void {
  program
    .command('interrupt')
    .description('stop the current run; the session stays open for more')
    .argument('<id>', 'the session')
    .action(async (id: string) => {
      const session = sessionArgument(id);
      const status = await stopSession(cli, {
        session,
        done: 'interrupted',
        already: ({ phase, unseen }) =>
          phase === 'idle' && !unseen ? `session ${session} has no run to interrupt` : null,
        ask: ({ sessions }) => sessions.interrupt(session),
        isDone: (now, before) => now.phase === 'closed' || (now.last?.run ?? 0) > (before.last?.run ?? 0),
      });
      cli.exit(status);
    });
}
