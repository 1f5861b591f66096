// Sends a person's decision about a call. A worker has to take it; where none runs, a worker that
// only takes decisions is started for the moment.
import type {
  SessionId,
  PendingApproval,
  PerdureClient,
  AvailableWorker,
  OpenedServer,
} from '../client/faces/types.ts';
import { actWithWorker, keepWorker } from '../client/faces/processes.ts';
import { oneLine } from '../client/faces/start.ts';
import type { Cli } from './cli.ts';
import { STATUS } from './errors.ts';
import { logToPerson, sayIfNobodyWorks, withSession } from './with-server.ts';

export type DecideSession = {
  /** The session's id, or the beginning of it. */
  readonly id: string;
  readonly call: string;
  /** A participle for people: "approved", "denied". */
  readonly done: string;
  /** A further sentence about it. */
  readonly after?: string;
  readonly act: (sessions: PerdureClient, session: SessionId) => Promise<PendingApproval>;
};

export async function decideSession(cli: Cli, { id, call, done, after = '', act }: DecideSession): Promise<number> {
  return withSession(cli, id, async (opened, session) => {
    const { approvals = [], taskQueue } = await opened.sessions.describe(session);
    // Without such a call a worker is not needed: the session refuses at once.
    const waits = approvals.some((pending) => pending.call === call);
    const take = (): Promise<PendingApproval> => act(opened.sessions, session);
    const { tool } = waits ? await withDecidingWorker(cli, opened, taskQueue, take) : await take();
    cli.say(`${done}: call ${call}, ${oneLine(tool, 60)}${after}`);
    await sayIfNobodyWorks(cli, opened, session);
    return STATUS.ok;
  });
}

/**
 * Runs `act` while a worker of the session's queue can take what it sends. Where none runs, and the
 * server is our own, it starts one for as long as `act` takes.
 */
export async function withDecidingWorker<T>(
  cli: Cli,
  opened: OpenedServer,
  taskQueue: string,
  act: () => Promise<T>,
): Promise<T> {
  const taker = await openDecidingWorker(cli, opened, taskQueue);
  try {
    return taker === null ? await act() : await actWithWorker(taker, act);
  } finally {
    await taker?.stop();
  }
}

/** Brings up no worker on a server that is not ours: the decision itself reports a missing one. */
async function openDecidingWorker(cli: Cli, opened: OpenedServer, taskQueue: string): Promise<AvailableWorker | null> {
  if (opened.embedded === null) return null;
  const { workersOf } = await import('../client/faces/servers.ts');
  const { startDecidingWorker } = await import('../client/runtime/deciding-worker.ts');
  return keepWorker({
    others: () => workersOf(opened.folder, taskQueue).length,
    start: () => startDecidingWorker(opened, taskQueue, cli.verbose ? logToPerson(cli) : () => undefined),
  });
}
