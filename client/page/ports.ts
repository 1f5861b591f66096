// All that the page asks of the world: visibility, the store, the live channel, and a person's words to a session.
import type { Told } from '../../activities/live/events.ts';
import type { Store } from '../../activities/transcript/store/store.ts';
import type { Hash, SessionId } from '../../workflows/contract/ids.ts';
import type { PendingApproval, UserMessage } from '../../workflows/contract/session.ts';
import type { Env } from '../../worker/embedded/data-folder.ts';
import type { PerdureClient } from '../perdure-client.ts';
import type { Opened } from '../connect/open-server.ts';
import { waitingApproval, type WaitingApproval } from '../sessions/decide.ts';
import { folderPorts } from '../sessions/folder-ports.ts';
import type { SessionDescription } from '../sessions/info.ts';
import { headOf, readSession, recentMessages, type SessionReading } from '../sessions/read.ts';
import { describeNoWorker, workerPolls } from '../sessions/worker-polls.ts';
import { loadView } from '../../activities/transcript/view/view.ts';

export type PagePorts = Pick<
  PerdureClient,
  'page' | 'counts' | 'send' | 'interrupt' | 'resume' | 'cancel' | 'approve' | 'deny' | 'approvals'
> & {
  /** Throws ClientProblem when there is no such session. */
  describe(session: string): Promise<SessionDescription>;
  head(session: SessionId): Promise<Hash | null>;
  /** That came lately, taken or not. */
  messages(session: SessionId): Promise<readonly UserMessage[]>;
  live(session: SessionId, signal: AbortSignal): AsyncIterable<Told>;
  waiting(session: SessionId, pending: PendingApproval): Promise<WaitingApproval>;
  /** A sentence when no worker polls for the session; null when one does. */
  nobodyWorks(session: SessionDescription): Promise<string | null>;
  /** All of a transcript, checked. */
  read(session: string): Promise<SessionReading>;
  readonly store: Store;
};

/** Milliseconds for which an answer about workers holds: their polls are a minute long. */
const POLLS_HOLD_MS = 5_000;

export function pagePorts(opened: Opened, env: Env): PagePorts {
  const { temporal, store, sessions } = opened;
  const { client } = temporal;
  const polled = new Map<string, { readonly at: number; readonly polls: Promise<boolean> }>();
  const polls = (taskQueue: string): Promise<boolean> => {
    const known = polled.get(taskQueue);
    if (known && Date.now() - known.at < POLLS_HOLD_MS) return known.polls;
    const asked = workerPolls({ temporal: client, taskQueue });
    polled.set(taskQueue, { at: Date.now(), polls: asked });
    asked.catch(() => polled.delete(taskQueue));
    return asked;
  };
  return {
    ...sessions,
    store,
    read: (session) => readSession(opened, session as SessionId),
    live: folderPorts(client, env).live,
    head: (session) => headOf(client, session),
    messages: (session) => recentMessages(client, session),
    waiting: (session, pending) =>
      waitingApproval(store, () => loadView(store, session, pending.head), session, pending),
    nobodyWorks: async (seen) => ((await polls(seen.taskQueue)) ? null : describeNoWorker(seen, seen.session)),
  };
}
