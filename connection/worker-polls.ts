// Tells whether anyone polls for work on a server that is not ours. Without a worker a session
// waits, and a person has to know.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { isAlive, parseIdentity } from '../system/process/identity.ts';
import { TASK_QUEUE } from '../workflows/contract/session.ts';
import { HEARTBEAT_MS, readBeats, type WorkerBeat } from './worker-beats.ts';
import { pause } from '../system/async.ts';

/** A poll waits up to a minute for work, and counts from its beginning. */
const RECENT_MS = 75_000;
/** A worker says that it ends a little before its last polls do. */
const LAST_POLLS_MS = 1_000;
const LOOK_MS = 1_000;
/** Milliseconds before a call to the server is given up. */
const CALL_MS = 5_000;

export type PollQuery = {
  readonly temporal: Client;
  readonly taskQueue?: string;
  /** Absent: pollers of workflow tasks, as every worker of a session's own queue is. */
  readonly of?: 'activities';
};

type Request = Parameters<Client['workflowService']['describeTaskQueue']>[0];

/** TASK_QUEUE_TYPE_ACTIVITY, whose enum comes with no package of ours. */
const ACTIVITIES: unknown = 2;

/** Tells whether a worker polls, or did a moment ago. */
export async function isQueuePolled(polls: PollQuery): Promise<boolean> {
  return (await lastPollTime(polls)) !== null;
}

/**
 * Tells whether a worker for activities is at work, also one that polls for none because all of its
 * slots are taken. The last heartbeat of a worker that has died since looks like any other, so that
 * the next one is waited for.
 */
export async function isQueueServed(temporal: Client, taskQueue: string): Promise<boolean> {
  const readOwn = async () => (await readBeats(temporal))?.filter(({ queue }) => queue === taskQueue) ?? [];
  // One that drains polls for nothing either, and its calls go on.
  const isAtWork = ({ isLive, slots }: WorkerBeat): boolean => isLive || (slots?.used ?? 0) > 0;
  const own = await readOwn();
  if (own.length === 0) return isQueuePolled({ temporal, taskQueue, of: 'activities' });
  const before = new Map(own.filter(isAtWork).map(({ identity, at }) => [identity, at]));
  if (before.size === 0) return false;
  await sleep(1.5 * HEARTBEAT_MS);
  return (await readOwn()).some((beat) => isAtWork(beat) && beat.at !== before.get(beat.identity));
}

/**
 * Returns when the last poll began, in milliseconds since the epoch by the server's clock, or null.
 * The server remembers pollers that are gone, so those provably dead on this host, those whose
 * heartbeats have ended, and those silent for long do not count.
 */
export async function lastPollTime(polls: PollQuery): Promise<number | null> {
  const times = (await livePollers(polls)).map(({ seen: time }) => time);
  return times.length === 0 ? null : Math.max(...times);
}

/** Returns the pollers that count, each with its identity and when its last poll began. */
export async function livePollers({ temporal, taskQueue = TASK_QUEUE, of }: PollQuery) {
  const { namespace } = temporal.options;
  const request: Request = {
    namespace,
    taskQueue: { name: taskQueue },
    ...(of && { taskQueueType: ACTIVITIES as NonNullable<Request['taskQueueType']> }),
  };
  const [{ pollers }, beats] = await Promise.all([
    temporal.withDeadline(Date.now() + CALL_MS, () => temporal.workflowService.describeTaskQueue(request)),
    readBeats(temporal),
  ]);
  const isGone = (identity: string, lastPoll: number): boolean => {
    const own = (beats ?? []).filter((beat) => beat.identity === identity && beat.queue === taskQueue);
    return (
      own.length > 0 && own.every(({ isLive, endedAt }) => !isLive && lastPoll < (endedAt ?? Infinity) + LAST_POLLS_MS)
    );
  };
  return (pollers ?? []).flatMap(({ identity, lastAccessTime }) => {
    const known = parseIdentity(identity ?? '');
    const lastPoll = Number(lastAccessTime?.seconds ?? 0) * 1_000 + (lastAccessTime?.nanos ?? 0) / 1e6;
    return Date.now() - lastPoll < RECENT_MS &&
      !isGone(identity ?? '', lastPoll) &&
      (known === null || isAlive(known) !== 'dead')
      ? [{ identity: identity ?? '', seen: lastPoll }]
      : [];
  });
}

/**
 * Returns false when no worker polled for `ms` milliseconds. The signal ends the wait as if one
 * did.
 */
export async function waitForWorker(
  polls: PollQuery,
  ms: number,
  signal: AbortSignal,
  lookMs: number = LOOK_MS,
): Promise<boolean> {
  const deadline = Date.now() + ms;
  for (;;) {
    if (await isQueuePolled(polls)) return true;
    if (Date.now() + lookMs > deadline) return false;
    if (!(await pause(lookMs, signal))) return true;
  }
}
