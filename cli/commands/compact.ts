// perdure compact: has a session sum up what was said, as soon as nothing else runs in it.
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { STATUS } from '../errors.ts';
import { sayIfNobodyWorks, showSent, withSession } from '../with-server.ts';

export function compactCommand(program: Command, cli: Cli): void {
  program
    .command('compact')
    .description('summarize the conversation of a session as soon as nothing else is running in it')
    .argument('<id>', 'the session')
    .argument('[instructions...]', 'what the summary must keep')
    .action(async (id: string, words: readonly string[]) => {
      cli.exit(await compact(cli, id, words.join(' ').trim()));
    });
}

async function compact(cli: Cli, id: string, instructions: string): Promise<number> {
  return withSession(cli, id, async (opened, session) => {
    const asked = instructions === '' ? {} : { instructions };
    const { messageId } = await opened.sessions.send(session, `/compact ${instructions}`.trim(), { compact: asked });
    showSent(cli, session, messageId);
    await sayIfNobodyWorks(cli, opened, session);
    return STATUS.ok;
  });
}
