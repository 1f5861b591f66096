// perdure cancel: ends what runs and closes the session; its transcript stays (L49).
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { actOnMatching, addFilterOptions, type FilterFlags, sessionWords, wantsMany } from '../many-sessions.ts';
import { stopSession } from '../stop-session.ts';

export function cancelCommand(program: Command, cli: Cli): void {
  const command = program
    .command('cancel')
    .description('stop a session and close it for good')
    .argument('[id]', 'the session')
    .option('--wait', 'until it is done, however long it takes for a worker to come');
  addFilterOptions(command).action(
    async (id: string | undefined, { wait = false, ...flags }: FilterFlags & { readonly wait?: boolean }) => {
      if (wantsMany(id, flags) !== null || id === undefined)
        return cli.exit(await actOnMatching(cli, flags, { ...MANY, deeds: cancelDeeds }));
      const status = await stopSession(cli, {
        id,
        wait,
        done: 'cancelled',
        already: ({ session, status: state }) => (state === 'open' ? null : `session ${session} is already closed`),
        ask: ({ sessions }, session) => sessions.cancel(session),
        isDone: ({ status: state }) => state !== 'open',
      });
      cli.exit(status);
    },
  );
}

const MANY = { verb: 'close for good', thing: 'session', done: 'asked to close' } as const;

const cancelDeeds: Parameters<typeof actOnMatching>[2]['deeds'] = ({ sessions }, session) =>
  Promise.resolve([{ words: sessionWords(session), act: () => sessions.cancel(session.session) }]);
