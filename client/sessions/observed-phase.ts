// Adds to a session what it cannot say itself: that it waits because no worker polls its queue or,
// where hosts share a store, because no worker polls on its host.
import type { Client } from '@temporalio/client';
import { hostQueue, TASK_QUEUE } from '../../workflows/contract/session.ts';
import { oneLine } from '../paint.ts';
import type { SessionInfo } from './info.ts';
import { type PollQuery, isQueuePolled } from '../../connection/worker-polls.ts';

/** Milliseconds for which a list reuses an answer about a queue. */
const ANSWER_MS = 1_000;

export type Observer = <Seen extends SessionInfo & { readonly unseen?: boolean }>(session: Seen) => Promise<Seen>;

/** Assumes that a worker polls if the server does not say. */
function cachePolls(temporal: Client): (polls: Omit<PollQuery, 'temporal'>) => Promise<boolean> {
  const answers = new Map<string, { readonly at: number; readonly polled: Promise<boolean> }>();
  return (polls) => {
    const { taskQueue = TASK_QUEUE } = polls;
    const known = answers.get(taskQueue);
    if (known && Date.now() - known.at < ANSWER_MS) return known.polled;
    const polled = isQueuePolled({ temporal, ...polls }).catch(() => true);
    answers.set(taskQueue, { at: Date.now(), polled });
    return polled;
  };
}

/** Returns the session with the phase that an observer sees. */
export function observePhases(temporal: Client): Observer {
  const isPolled = cachePolls(temporal);
  const observeHost = observeHosts(temporal);
  return async (session) => {
    const { status, phase, unseen = false, taskQueue } = session;
    const hasWork = status === 'open' && (phase === 'running' || unseen);
    return hasWork && !(await isPolled({ taskQueue })) ? { ...session, phase: 'waiting_worker' } : observeHost(session);
  };
}

/**
 * Names the host that a session waits for when no worker polls there. A session without a host
 * costs no call.
 */
export function observeHosts(temporal: Client): Observer {
  const isPolled = cachePolls(temporal);
  return async (session) => {
    const { host, status, phase, taskQueue } = session;
    if (!host || status !== 'open' || phase !== 'running') return session;
    const isThere = await isPolled({ taskQueue: hostQueue(taskQueue, host), of: 'activities' });
    return isThere ? session : { ...session, phase: 'waiting_worker', waitsFor: host.name };
  };
}

function hostAwayText({ session, cwd, waitsFor }: SessionInfo): string {
  const where = `host ${oneLine(waitsFor ?? '', 60)}, which has its folder ${oneLine(cwd, 200)}`;
  return `session ${session} waits for ${where}: start a worker there (\`perdure worker\`), and it goes on by itself`;
}

/** Says once that the session's host is away, and once that it is back. */
export function announceHostChanges(say: ((line: string) => void) | undefined): (session: SessionInfo) => void {
  let waitsFor: string | undefined;
  return (session) => {
    if (session.waitsFor === waitsFor) return;
    if (session.waitsFor !== undefined) say?.(hostAwayText(session));
    else if (session.phase === 'running') say?.(`a worker runs on host ${waitsFor} again: the session goes on`);
    waitsFor = session.waitsFor;
  };
}
