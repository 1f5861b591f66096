// perdure resume: ends the wait of a parked session early (L14).
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { STATUS } from '../errors.ts';
import { sayIfNobodyWorks, withSession } from '../with-server.ts';

export function resumeCommand(program: Command, cli: Cli): void {
  program
    .command('resume')
    .description('end a parked session’s wait now')
    .argument('<id>', 'the session')
    .action(async (id: string) => {
      cli.exit(await resume(cli, id));
    });
}

async function resume(cli: Cli, id: string): Promise<number> {
  return withSession(cli, id, async (opened, session) => {
    const { phase, status } = await opened.sessions.describe(session);
    if (status === 'open' && phase !== 'parked') {
      cli.say(`session ${session} is not parked`);
      return STATUS.ok;
    }
    await opened.sessions.resume(session);
    cli.say(`session ${session} continues`);
    await sayIfNobodyWorks(cli, opened, session);
    return STATUS.ok;
  });
}
