// perdure resume: ends the wait of a parked session early (L14).
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { STATUS } from '../errors.ts';
import { actOnMatching, addFilterOptions, type FilterFlags, sessionWords, wantsMany } from '../many-sessions.ts';
import { sayIfNobodyWorks, withSession } from '../with-server.ts';

export function resumeCommand(program: Command, cli: Cli): void {
  const command = program
    .command('resume')
    .description('end a parked session’s wait now')
    .argument('[id]', 'the session');
  addFilterOptions(command).action(async (id: string | undefined, flags: FilterFlags) => {
    if (wantsMany(id, flags) !== null || id === undefined)
      return cli.exit(await actOnMatching(cli, flags, { ...MANY, deeds: resumeDeeds }));
    cli.exit(await resume(cli, id));
  });
}

const MANY = { verb: 'end the wait of', thing: 'parked session', done: 'asked to go on' } as const;

const resumeDeeds: Parameters<typeof actOnMatching>[2]['deeds'] = ({ sessions }, session) =>
  Promise.resolve(
    session.phase === 'parked' ? [{ words: sessionWords(session), act: () => sessions.resume(session.session) }] : [],
  );

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
