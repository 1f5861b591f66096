// Gives the work of provably dead workers on this host back at once, instead of waiting for their
// heartbeats to time out, and ends processes that their hook commands left running. The sticky
// queue comes first, then the activity: the other order stalled for ten seconds.
import type { Log } from '../system/log.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { ActivityNotFoundError, type Client } from '@temporalio/client';
import { ApplicationFailure, WorkflowNotFoundError } from '@temporalio/common';
import { endOrphans } from '../system/process/kill-tree.ts';
import { isAlive, parseIdentity, processIdentity } from '../system/process/identity.ts';
import { isElicited } from '../workflows/contract/people.ts';
import { MEMO_KEY, type SessionMemo, WORKFLOW_TYPE } from '../workflows/contract/session.ts';
import { identitySchema, LockHeld, withLock } from '../system/process/file-lock.ts';
import { GRPC, readGrpcFailure } from '../connection/grpc-failure.ts';
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { findFreePath } from './embedded/members.ts';
import { readJsonFile, writeJsonFile } from '../system/json.ts';

/** PENDING_ACTIVITY_STATE_STARTED and _CANCEL_REQUESTED: an attempt was begun. */
const STARTED_STATES: readonly unknown[] = [2, 3];

/** The most sessions that are looked at together. */
const AT_ONCE = 8;

/**
 * Milliseconds after which to look again after the first time: a server that was itself killed
 * needs a moment to list its sessions.
 */
const AGAIN_MS = [500, 1_000, 2_000, 5_000];

/**
 * Milliseconds between looks from then on. Files tell whether a worker of this machine has died:
 * only when one has is the server asked anything.
 */
const STEADY_MS = 10_000;

/** Milliseconds that are waited for another worker of this machine, which looks for us as well. */
const LOCK_MS = 2_000;

type Reaper = {
  /** Resolves when the first look is over. */
  readonly first: Promise<void>;
  /** Stops without waiting for a look under way, which may be waiting for a server that is gone. */
  stop(): Promise<void>;
};

type StartReaper = {
  readonly client: Client;
  /** The queues whose sessions are looked after: only their workers are sure to share the lock. */
  readonly taskQueues: readonly string[];
  /** The lock that this machine's workers share: one of them looks at a time. */
  readonly lockDir: string;
  /** The folder in which the machine's workers of this data folder are recorded. */
  readonly workersDir: string;
  readonly log: Log;
};

/** Starts looking, as a best effort: work that is missed here times out by itself. */
export function startReaper(options: StartReaper): Reaper {
  const stopped = new AbortController();
  const log: Log = (...line) => (stopped.signal.aborted ? undefined : options.log(...line));
  const workers = options.taskQueues.map((taskQueue) => joinWorkers(options.workersDir, taskQueue));
  const round = (): Promise<void> => reapSafely({ ...options, log });
  const first = round();
  const rounds = async (): Promise<void> => {
    await first;
    for (let n = 0; ; n += 1) {
      const soon = AGAIN_MS[n];
      await sleep(soon ?? STEADY_MS, undefined, { signal: stopped.signal });
      // Each is asked, because it counts the rounds of the dead.
      const died = workers.filter(({ haveDied }) => haveDied());
      if (soon !== undefined || died.length > 0) await round();
    }
  };
  // It ends only by being stopped: `reapSafely` reports its own failures.
  rounds().catch(() => {});
  const stop = (): Promise<void> => {
    stopped.abort();
    for (const { leave } of workers) leave();
    return Promise.resolve();
  };
  return { first, stop };
}

/**
 * Looks for dead workers' work under the lock, and reports failures. An activity is failed by its
 * id alone: without the lock a second look could fail an attempt that has just begun elsewhere.
 */
async function reapSafely({ client, taskQueues, lockDir, log }: StartReaper): Promise<void> {
  try {
    await withLock(lockDir, { doing: "taking over dead workers' work", waitMs: LOCK_MS }, () =>
      reapSessions(client, taskQueues),
    );
  } catch (error) {
    if (error instanceof LockHeld) return;
    log(
      'warn',
      `cannot take over the work of dead workers at once: ${String(error)}; it goes on when their heartbeats time out`,
    );
  }
}

async function reapSessions(client: Client, taskQueues: readonly string[]): Promise<void> {
  await endOrphans();
  const waiting: string[] = [];
  for (const taskQueue of taskQueues) waiting.push(...(await runningSessions(client, taskQueue)));
  const next = async (): Promise<void> => {
    for (let session = waiting.pop(); session !== undefined; session = waiting.pop())
      await reapSession(client, session).catch(unlessTaken);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, next));
}

/**
 * Lists the sessions that may have work to take over: not those that are idle, parked or wait for a
 * decision, unless a call asks while it runs.
 */
async function runningSessions(client: Client, taskQueue: string): Promise<string[]> {
  const query = `WorkflowType = '${WORKFLOW_TYPE}' AND ExecutionStatus = 'Running' AND TaskQueue = '${taskQueue}'`;
  const running: string[] = [];
  for await (const { workflowId, memo } of client.workflow.list({ query })) {
    const { phase, approvals = [] } = (memo?.[MEMO_KEY] ?? {}) as Partial<SessionMemo>;
    if (phase === undefined || phase === 'running' || approvals.some(isElicited)) running.push(workflowId);
  }
  return running;
}

async function reapSession(client: Client, workflowId: string): Promise<void> {
  const before = await findOrphans(client, workflowId);
  if (before.length === 0) return;
  await client.workflowService.resetStickyTaskQueue({
    namespace: client.options.namespace,
    execution: { workflowId },
  });
  // A live worker may have begun an attempt meanwhile: look again just before.
  const now = await findOrphans(client, workflowId);
  const failure = ApplicationFailure.create({ type: 'WorkerGone', message: 'its worker is dead', nextRetryDelay: 1 });
  for (const activityId of now) await client.activity.fail({ workflowId, activityId }, failure).catch(unlessTaken);
}

/** Ignores that another worker was faster, or the session is over: nothing is left to take. */
function unlessTaken(error: unknown): void {
  if (error instanceof ActivityNotFoundError || error instanceof WorkflowNotFoundError) return;
  if (readGrpcFailure(error).code !== GRPC.notFound) throw error;
}

/** Finds the ids of started activities whose worker is dead. */
async function findOrphans(client: Client, workflowId: string): Promise<string[]> {
  const { raw } = await client.workflow.getHandle(workflowId).describe();
  return (raw.pendingActivities ?? []).flatMap(({ activityId, lastWorkerIdentity, state }) => {
    const identity = parseIdentity(lastWorkerIdentity ?? '');
    const started = STARTED_STATES.includes(state);
    return activityId && started && identity && isAlive(identity) === 'dead' ? [activityId] : [];
  });
}

// The workers that this data folder has had: a file each, which a worker removes when it ends. A
// file that is left says that its worker died, and only then is there something to take over.
const schema = identitySchema.extend({ taskQueue: z.string() });

/**
 * Rounds in which the sessions of a dead worker are looked at: a server that was killed with it
 * lists them late.
 */
const ROUNDS = 3;

type HostWorkers = {
  /**
   * Tells whether a worker of the queue has died that was not looked after in enough rounds, and
   * counts this round.
   */
  haveDied(): boolean;
  /** Removes this process, which has stopped working. */
  leave(): void;
};

/** Adds this process to the workers of the queue. */
export function joinWorkers(dir: string, taskQueue: string): HostWorkers {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const own = processIdentity();
  const path = findFreePath(dir, `${own.pid}-${own.startTime}`);
  writeJsonFile(path, { ...own, taskQueue }, 'not durable');
  const rounds = new Map<string, number>();
  const isDead = (file: string): boolean => {
    const read = readJsonFile(file, schema);
    if (read.kind === 'absent') return false;
    return read.kind === 'damaged' || (read.value.taskQueue === taskQueue && isAlive(read.value, 'here') === 'dead');
  };
  return {
    haveDied() {
      const files = readdirSync(dir).map((name) => join(dir, name));
      const dead = files.filter((file) => file.endsWith('.json') && file !== path && isDead(file));
      for (const file of dead) {
        const round = (rounds.get(file) ?? 0) + 1;
        rounds.set(file, round);
        if (round >= ROUNDS) rmSync(file, { force: true });
      }
      return dead.length > 0;
    },
    leave: () => rmSync(path, { force: true }),
  };
}
