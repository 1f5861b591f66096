// Tells whether anyone polls for work on a server that is not ours. Without a worker a session
// waits, and a person has to know.
import type { Client } from '@temporalio/client';
import { isAlive, parseIdentity } from '../../system/process/identity.ts';
import { hostQueue, TASK_QUEUE, type Configuration } from '../../workflows/contract/session.ts';
import { oneLine, shellWord } from '../paint.ts';
import { pause } from '../../system/async.ts';
import { type ForWorkers, forAnyWorker } from '../../workflows/contract/task-queue.ts';
import { ClientProblem } from '../problem.ts';
import type { SessionInfo } from './info.ts';

/** A poll waits up to a minute for work, and counts from its beginning. */
const RECENT_MS = 75_000;
const LOOK_MS = 1_000;
/** Milliseconds before a call to the server is given up. */
const CALL_MS = 5_000;

export type WorkerPolls = {
  readonly temporal: Client;
  readonly taskQueue?: string;
  /** Absent: pollers of workflow tasks, as every worker of a session's own queue is. */
  readonly of?: 'activities';
};

type Request = Parameters<Client['workflowService']['describeTaskQueue']>[0];

/** TASK_QUEUE_TYPE_ACTIVITY, whose enum comes with no package of ours. */
const ACTIVITIES: unknown = 2;

/** Tells whether a worker polls, or did a moment ago. */
export async function workerPolls(polls: WorkerPolls): Promise<boolean> {
  return (await lastPoll(polls)) !== null;
}

/**
 * Returns when the last poll began, in milliseconds since the epoch by the server's clock, or null.
 * The server remembers pollers that are gone, so those provably dead on this host and those silent
 * for long do not count.
 */
export async function lastPoll(polls: WorkerPolls): Promise<number | null> {
  const begun = (await pollersOf(polls)).map(({ seen }) => seen);
  return begun.length === 0 ? null : Math.max(...begun);
}

/** Returns the pollers that count, each with its identity and when its last poll began. */
export async function pollersOf({ temporal, taskQueue = TASK_QUEUE, of }: WorkerPolls) {
  const { namespace } = temporal.options;
  const request: Request = {
    namespace,
    taskQueue: { name: taskQueue },
    ...(of && { taskQueueType: ACTIVITIES as NonNullable<Request['taskQueueType']> }),
  };
  const { pollers } = await temporal.withDeadline(Date.now() + CALL_MS, () =>
    temporal.workflowService.describeTaskQueue(request),
  );
  return (pollers ?? []).flatMap(({ identity, lastAccessTime }) => {
    const known = parseIdentity(identity ?? '');
    const seen = Number(lastAccessTime?.seconds ?? 0) * 1_000 + (lastAccessTime?.nanos ?? 0) / 1e6;
    return Date.now() - seen < RECENT_MS && (known === null || isAlive(known) !== 'dead')
      ? [{ identity: identity ?? '', seen }]
      : [];
  });
}

/**
 * Returns false when no worker polled for `ms` milliseconds. The signal ends the wait as if one
 * did.
 */
export async function waitForWorker(
  polls: WorkerPolls,
  ms: number,
  signal: AbortSignal,
  lookMs: number = LOOK_MS,
): Promise<boolean> {
  const deadline = Date.now() + ms;
  for (;;) {
    if (await workerPolls(polls)) return true;
    if (Date.now() + lookMs > deadline) return false;
    if (!(await pause(lookMs, signal))) return true;
  }
}

/** Milliseconds for which a list reuses an answer about a queue. */
const ANSWER_MS = 1_000;

/**
 * Adds what only an observer can know. A session that has work which no worker polls for, on its
 * queue or on its host, is in phase `waiting_worker`; it cannot say so itself.
 */
type Waiting = <Seen extends SessionInfo & { readonly unseen?: boolean }>(seen: Seen) => Promise<Seen>;

/** Assumes that a worker polls if the server does not say. */
function queueWatcher(temporal: Client): (polls: Omit<WorkerPolls, 'temporal'>) => Promise<boolean> {
  const answers = new Map<string, { readonly at: number; readonly polled: Promise<boolean> }>();
  return (polls) => {
    const { taskQueue = TASK_QUEUE } = polls;
    const known = answers.get(taskQueue);
    if (known && Date.now() - known.at < ANSWER_MS) return known.polled;
    const polled = workerPolls({ temporal, ...polls }).catch(() => true);
    answers.set(taskQueue, { at: Date.now(), polled });
    return polled;
  };
}

/** Returns the session with the phase that an observer sees. */
export function seenPhases(temporal: Client): Waiting {
  const isPolled = queueWatcher(temporal);
  const hosted = seenHosts(temporal);
  return async (seen) => {
    const { status, phase, unseen = false, taskQueue } = seen;
    const hasWork = status === 'open' && (phase === 'running' || unseen);
    return hasWork && !(await isPolled({ taskQueue })) ? { ...seen, phase: 'waiting_worker' } : hosted(seen);
  };
}

/**
 * Names the host that a session waits for when no worker polls there. A session without a host
 * costs no call.
 */
export function seenHosts(temporal: Client): Waiting {
  const isPolled = queueWatcher(temporal);
  return async (seen) => {
    const { host, status, phase, taskQueue } = seen;
    if (!host || status !== 'open' || phase !== 'running') return seen;
    const isThere = await isPolled({ taskQueue: hostQueue(taskQueue, host), of: 'activities' });
    return isThere ? seen : { ...seen, phase: 'waiting_worker', waitsFor: host.name };
  };
}

export function hostAway({ session, cwd, waitsFor }: SessionInfo): string {
  const where = `host ${oneLine(waitsFor ?? '', 60)}, which has its folder ${oneLine(cwd, 200)}`;
  return `session ${session} waits for ${where}: start a worker there (\`perdure worker\`), and it goes on by itself`;
}

/** Says once that the session's host is away, and once that it is back. */
export function hostTeller(say: ((line: string) => void) | undefined): (seen: SessionInfo) => void {
  let waitsFor: string | undefined;
  return (seen) => {
    if (seen.waitsFor === waitsFor) return;
    if (seen.waitsFor !== undefined) say?.(hostAway(seen));
    else if (seen.phase === 'running') say?.(`a worker runs on host ${waitsFor} again: the session goes on`);
    waitsFor = seen.waitsFor;
  };
}

/**
 * Watches a server that is not ours for pollers. Their absence is first a failure, and a notice
 * when a worker went away later.
 */
export type WatchPollers = {
  readonly temporal: Client;
  /** Absent: those of the queue that every staying worker polls. */
  readonly workers?: ForWorkers;
  readonly session?: string;
  readonly say: (line: string) => void;
  readonly onNobody: (why: ClientProblem) => void;
  readonly patience?: PollerPatience;
};

/** Milliseconds. */
export type PollerPatience = { readonly first: number; readonly look: number; readonly later: number };

/** A person waits no longer than `first` to learn that no worker runs. */
export const pollerPatience: PollerPatience = { first: 8_000, look: 1_000, later: 20_000 };

export function watchPollers(watching: WatchPollers): { stop(): Promise<void> } {
  const stopped = new AbortController();
  // The follower reports a server that does not answer.
  const ended = watch(watching, stopped.signal).catch(() => undefined);
  return {
    stop: () => {
      stopped.abort();
      return ended;
    },
  };
}

async function watch(
  { temporal, workers = forAnyWorker, session, say, onNobody, patience = pollerPatience }: WatchPollers,
  signal: AbortSignal,
): Promise<void> {
  const { taskQueue } = workers;
  const nobody = describeNoWorker(workers, session);
  if (!(await waitForWorker({ temporal, taskQueue }, patience.first, signal, patience.look)))
    return onNobody(new ClientProblem('no_worker', nobody));
  for (let polled = true; await pause(patience.later, signal);) {
    const polls = await workerPolls({ temporal, taskQueue });
    if (polled && !polls) say(`${nobody}; the session goes on when one does`);
    polled = polls;
  }
}

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
