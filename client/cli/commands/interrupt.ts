// perdure interrupt: ends what runs; the session stays open for the next message (L47, L48).
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { stopSession } from '../stop-session.ts';

export function interruptCommand(program: Command, cli: Cli): void {
  program
    .command('interrupt')
    .description('stop the current run; the session stays open for more')
    .argument('<id>', 'the session')
    .action(async (id: string) => {
      const status = await stopSession(cli, {
        id,
        done: 'interrupted',
        already: ({ session, phase, unseen }) =>
          phase === 'idle' && !unseen ? `session ${session} has no run to interrupt` : null,
        ask: ({ sessions }, session) => sessions.interrupt(session),
        isDone: (now, before) => now.phase === 'closed' || (now.last?.run ?? 0) > (before.last?.run ?? 0),
      });
      cli.exit(status);
    });
}
