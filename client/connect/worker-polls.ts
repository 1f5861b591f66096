// Whether anyone polls for the work of a server that is not ours: without a worker a session waits, and a person has to know.
import type { Client } from '@temporalio/client';
import { isAlive, parseIdentity } from '../../activities/process/identity.ts';
import { TASK_QUEUE } from '../../workflows/contract/session.ts';
import { pause } from '../pause.ts';

/** A poll waits up to a minute for work, and is counted from its beginning. */
const RECENT_MS = 75_000;
const LOOK_MS = 1_000;
/** A call that the server does not answer. */
const CALL_MS = 5_000;

export type WorkerPolls = { readonly temporal: Client; readonly taskQueue?: string };

/** Whether one polls, or did a moment ago. */
export async function workerPolls(polls: WorkerPolls): Promise<boolean> {
  return (await lastPoll(polls)) !== null;
}

/**
 * When the last poll began, in milliseconds since the epoch by the server's clock; null when none counts. The server remembers pollers
 * that are gone: those provably dead on this host, and those silent for long, do not count.
 */
export async function lastPoll(polls: WorkerPolls): Promise<number | null> {
  const begun = (await pollersOf(polls)).map(({ seen }) => seen);
  return begun.length === 0 ? null : Math.max(...begun);
}

/** Those that count, each with its identity and when its last poll began. */
export async function pollersOf({ temporal, taskQueue = TASK_QUEUE }: WorkerPolls) {
  const { namespace } = temporal.options;
  // Of its queue for workflow tasks, unless another is asked for.
  const request = { namespace, taskQueue: { name: taskQueue } };
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

/** False when none polled for `ms` milliseconds; the signal ends the wait as if one did. */
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
