// perdure interrupt: ends what runs; the session stays open for the next message (L47, L48).
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { isUnderWay } from '../../client/sessions/info.ts';
import { actOnMatching, addFilterOptions, type FilterFlags, sessionWords, wantsMany } from '../many-sessions.ts';
import { stopSession } from '../stop-session.ts';

export function interruptCommand(program: Command, cli: Cli): void {
  const command = program
    .command('interrupt')
    .description('stop the current run; the session stays open for more')
    .argument('[id]', 'the session')
    .option('--wait', 'until it is done, however long it takes for a worker to come');
  addFilterOptions(command).action(
    async (id: string | undefined, { wait = false, ...flags }: FilterFlags & { readonly wait?: boolean }) => {
      if (wantsMany(id, flags) !== null || id === undefined)
        return cli.exit(await actOnMatching(cli, flags, { ...MANY, deeds: interruptDeeds }));
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
    },
  );
}

const MANY = { verb: 'interrupt', thing: 'run', done: 'asked to stop' } as const;

/** A session that rests has nothing to interrupt. */
const interruptDeeds: Parameters<typeof actOnMatching>[2]['deeds'] = ({ sessions }, session) =>
  Promise.resolve(
    isUnderWay(session) ? [{ words: sessionWords(session), act: () => sessions.interrupt(session.session) }] : [],
  );
