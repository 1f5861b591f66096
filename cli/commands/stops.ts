// perdure interrupt, cancel and resume: each acts on one session, or on all that a filter means
// (L14, L47–L49).
import type { Command } from 'commander';
import type { SessionInfo } from '../../client/faces/types.ts';
import { isUnderWay } from '../../client/faces/lists.ts';
import type { Cli } from '../cli.ts';
import { STATUS } from '../errors.ts';
import {
  actOnMatching,
  addFilterOptions,
  type FilterFlags,
  type Many,
  sessionWords,
  wantsMany,
} from '../many-sessions.ts';
import { type Stop, stopSession } from '../stop-session.ts';
import { sayIfNobodyWorks, withSession } from '../with-server.ts';

type Row = Pick<Many, 'verb' | 'thing'> & {
  readonly name: 'interrupt' | 'cancel' | 'resume';
  readonly says: string;
  /** For the end of a request to many sessions. */
  readonly requested: string;
  /** Tells whether there is something to do in a session that a filter means. */
  readonly isMeant: (session: SessionInfo) => boolean;
  /** How one session is stopped. Absent: a parked one is woken, and the command returns. */
  readonly stop?: Pick<Stop, 'done' | 'already' | 'isDone'>;
};

export const interruptCommand = commandOf({
  name: 'interrupt',
  says: 'stop the current run; the session stays open for more',
  verb: 'interrupt',
  thing: 'run',
  requested: 'asked to stop',
  isMeant: isUnderWay,
  stop: {
    done: 'interrupted',
    already: ({ session, phase, unseen }) =>
      phase === 'idle' && !unseen ? `session ${session} has no run to interrupt` : null,
    isDone: (now, before) => now.phase === 'closed' || (now.last?.run ?? 0) > (before.last?.run ?? 0),
  },
});

export const cancelCommand = commandOf({
  name: 'cancel',
  says: 'stop a session and close it for good',
  verb: 'close for good',
  thing: 'session',
  requested: 'asked to close',
  isMeant: () => true,
  stop: {
    done: 'cancelled',
    already: ({ session, status }) => (status === 'open' ? null : `session ${session} is already closed`),
    isDone: ({ status }) => status !== 'open',
  },
});

export const resumeCommand = commandOf({
  name: 'resume',
  says: 'end a parked session’s wait now',
  verb: 'end the wait of',
  thing: 'parked session',
  requested: 'asked to go on',
  isMeant: ({ phase, atBudget }) => phase === 'parked' && atBudget !== true,
});

type Flags = FilterFlags & { readonly wait?: boolean };

function commandOf({ name, says, requested, isMeant, stop, ...words }: Row) {
  return (program: Command, cli: Cli): void => {
    const command = program.command(name).description(says).argument('[id]', 'the session');
    if (stop) command.option('--wait', 'until it is done, however long it takes for a worker to come');
    addFilterOptions(command).action(async (id: string | undefined, { wait = false, ...flags }: Flags) => {
      if (wantsMany(id, flags) !== null || id === undefined) {
        const deeds: Many['deeds'] = ({ sessions }, session) => {
          const act = () => sessions[name](session.session);
          return Promise.resolve(isMeant(session) ? [{ words: sessionWords(session), act }] : []);
        };
        return cli.exit(await actOnMatching(cli, flags, { ...words, done: requested, deeds }));
      }
      cli.exit(
        stop
          ? await stopSession(cli, { id, wait, ...stop, ask: ({ sessions }, session) => sessions[name](session) })
          : await resume(cli, id),
      );
    });
  };
}

async function resume(cli: Cli, id: string): Promise<number> {
  return withSession(cli, id, async (opened, session) => {
    const { phase, status, atBudget } = await opened.sessions.describe(session);
    if (status === 'open' && atBudget) {
      cli.say(`session ${session} waits at its budget: it goes on when that is raised or removed`);
      return STATUS.ok;
    }
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
