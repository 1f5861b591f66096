// Deciding about a call: taken by a worker. Where there is none, one that only takes decisions is brought up for the moment.
import type { SessionId } from '../../workflows/contract/ids.ts';
import type { PendingApproval } from '../../workflows/contract/session.ts';
import type { PerdureClient } from '../client.ts';
import type { Opened } from '../connect/open-server.ts';
import { oneLine } from '../render/plain.ts';
import type { Cli } from './cli.ts';
import { STATUS } from './errors.ts';
import { sayIfNobodyWorks, withServer } from './with-server.ts';

export type DecideSession = {
  readonly session: SessionId;
  readonly call: string;
  /** "approved", "denied". */
  readonly done: string;
  /** What more is to be said of it. */
  readonly after?: string;
  readonly act: (sessions: PerdureClient) => Promise<PendingApproval>;
};

export async function decideSession(
  cli: Cli,
  { session, call, done, after = '', act }: DecideSession,
): Promise<number> {
  return withServer(cli, async (opened) => {
    const { approvals = [] } = await opened.sessions.describe(session);
    // Without such a call nothing needs a worker: it is refused at once.
    const waits = approvals.some((pending) => pending.call === call);
    const end = waits ? await takerFor(cli, opened) : () => Promise.resolve();
    try {
      const { tool } = await act(opened.sessions);
      cli.say(`${done}: call ${call}, ${oneLine(tool, 60)}${after}`);
    } finally {
      await end();
    }
    await sayIfNobodyWorks(cli, opened, session);
    return STATUS.ok;
  });
}

/** Returns how to end it. On a server that is not ours nobody is brought up: the decision says when nobody polls. */
async function takerFor(cli: Cli, opened: Opened): Promise<() => Promise<void>> {
  if (opened.embedded === null) return () => Promise.resolve();
  const { livingMembers } = await import('../../worker/embedded/members.ts');
  if (livingMembers(opened.folder).some(({ worker }) => worker)) return () => Promise.resolve();
  const { startDecidingWorker } = await import('../connect/deciding-worker.ts');
  const worker = await startDecidingWorker(opened, cli.verbose ? cli.say : () => undefined);
  return () => worker.stop();
}
