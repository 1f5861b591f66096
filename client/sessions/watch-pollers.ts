// Watches a server that is not ours for pollers. At first their absence is a failure; later, after
// a worker went away, it is a notice.
import type { Client } from '@temporalio/client';
import { isQueuePolled, type PollQuery, waitForWorker } from '../../connection/worker-polls.ts';
import { pause } from '../../system/async.ts';
import { type Configuration, hostQueue, TASK_QUEUE } from '../../workflows/contract/session.ts';
import { forAnyWorker, type ForWorkers } from '../../workflows/contract/task-queue.ts';
import { oneLine, shellWord } from '../paint.ts';
import { ClientProblem } from '../problem.ts';
import type { SessionInfo } from './info.ts';

type WatchPollers = {
  readonly temporal: Client;
  /** Absent: those of the queue that every staying worker polls. */
  readonly workers?: ForWorkers;
  readonly session?: string;
  readonly say: (line: string) => void;
  readonly onNobody: (why: ClientProblem) => void;
  readonly patience?: PollerPatience;
};

/** Milliseconds. */
type PollerPatience = { readonly first: number; readonly look: number; readonly later: number };

/** A person waits no longer than `first` to learn that no worker runs. */
export const pollerPatience: PollerPatience = { first: 8_000, look: 1_000, later: 20_000 };

export function watchPollers(watching: WatchPollers): { stop(): Promise<void> } {
  const stopped = new AbortController();
  // The follower reports a server that does not answer.
  const done = watch(watching, stopped.signal).catch(() => undefined);
  return {
    stop: () => {
      stopped.abort();
      return done;
    },
  };
}

async function watch(
  { temporal, workers = forAnyWorker, session, say, onNobody, patience = pollerPatience }: WatchPollers,
  signal: AbortSignal,
): Promise<void> {
  const { taskQueue } = workers;
  const noWorker = describeNoWorker(workers, session);
  if (!(await waitForWorker({ temporal, taskQueue }, patience.first, signal, patience.look)))
    return onNobody(new ClientProblem('no_worker', noWorker));
  for (let polled = true; await pause(patience.later, signal);) {
    const polls = await isQueuePolled({ temporal, taskQueue });
    if (polled && !polls) say(`${noWorker}; the session goes on when one does`);
    polled = polls;
  }
}

// Tells people that a session waits for workers of a configuration, and how to start one.
/** Names a configuration for people. */
export function configurationName({ name, file }: Configuration): string {
  if (name !== undefined) return `the configuration "${name}"`;
  return file === undefined ? 'a configuration that its program gave' : `the configuration ${file}`;
}

/**
 * Says that no worker runs for `session`, or for any session of the queue, and how to start one.
 */
export function describeNoWorker({ taskQueue, configuration }: ForWorkers, session?: string): string {
  if (!configuration)
    return `no worker polls task queue ${taskQueue}: start one with \`perdure worker\` where the workspace is`;
  const { name, file } = configuration;
  const who = session === undefined ? 'the session' : `session ${session}`;
  const waits = `${who} waits for a worker with ${configurationName(configuration)}, and none runs`;
  if (name === undefined && file === undefined)
    return `${waits}: start that program again for it, or give a configuration with \`perdure watch ${session ?? 'ID'} --config FILE\``;
  return `${waits}: start one with \`perdure worker --config ${file === undefined ? 'FILE' : shellWord(file)}\``;
}

// Adds to a session what it cannot say itself: that it waits because no worker polls its queue or,
// where hosts share a store, because no worker polls on its host.
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
