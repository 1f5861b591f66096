// perdure open: opens the ops page at a session.
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { STATUS } from '../errors.ts';
import { withSession } from '../with-server.ts';

export function openCommand(program: Command, cli: Cli): void {
  program
    .command('open')
    .description('open a session on the ops page, or print the address where there is no browser')
    .argument('<id>', 'the session')
    .action(async (id: string) => {
      const status = await withSession(cli, id, async ({ sessions }, session) => {
        await sessions.describe(session);
        const { openPageAt } = await import('../open-page.ts');
        await openPageAt(cli, session);
        return STATUS.ok;
      });
      cli.exit(status);
    });
}
