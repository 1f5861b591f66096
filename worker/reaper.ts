// Gives the work of provably dead workers on this host back at once, instead of waiting for their
// heartbeats to time out, and ends what their hook commands left running. First the sticky queue,
// then the activity: the other order stalled for ten seconds.
import type { Log } from '../system/log.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ActivityNotFoundError, type Client } from '@temporalio/client';
import { ApplicationFailure, WorkflowNotFoundError } from '@temporalio/common';
import { z } from 'zod';
import { endOrphans } from '../system/process/orphans.ts';
import { isAlive, parseIdentity, processIdentity } from '../system/process/identity.ts';
import { isElicited } from '../workflows/contract/people.ts';
import { MEMO_KEY, WORKFLOW_TYPE, type SessionMemo } from '../workflows/contract/session.ts';
import { LockHeld, withLock, identitySchema } from './embedded/file-lock.ts';
import { GRPC, grpcFailure } from '../connection/connect-client.ts';
import { readJsonFile, writeJsonFile } from '../system/json-file.ts';

/** PENDING_ACTIVITY_STATE_STARTED and _CANCEL_REQUESTED: an attempt was begun. */
const BEGUN: readonly unknown[] = [2, 3];

/** Sessions looked at together. */
const AT_ONCE = 8;

/**
 * When to look again after the first time, in milliseconds: a server that was itself killed needs a
 * moment to list what it knows.
 */
const AGAIN_MS = [500, 1_000, 2_000, 5_000];

/**
 * From then on, whether a worker of this machine has died is seen from files: only when one has is
 * the server asked anything.
 */
const STEADY_MS = 10_000;

/** Milliseconds that are waited for another worker of this machine, which looks for us as well. */
const LOCK_MS = 2_000;

type Reaper = {
  /** Resolves when the first look is over. */
  readonly first: Promise<void>;
  /** A look under way is not waited for: it may be waiting for a server that is gone. */
  stop(): Promise<void>;
};

type StartReaper = {
  readonly client: Client;
  /**
   * The sessions of these queues are looked after, no others: only their workers are sure to share
   * the lock.
   */
  readonly taskQueues: readonly string[];
  /** Shared by this machine's workers: one of them looks at a time. */
  readonly lockDir: string;
  /** Where the machine's workers of this data folder are known. */
  readonly workersDir: string;
  readonly log: Log;
};

/** Best effort: what is missed here times out by itself. */
export function startReaper(options: StartReaper): Reaper {
  const stopped = new AbortController();
  const log: Log = (...line) => (stopped.signal.aborted ? undefined : options.log(...line));
  const workers = options.taskQueues.map((taskQueue) => joinWorkers(options.workersDir, taskQueue));
  const round = (): Promise<void> => reap({ ...options, log });
  const first = round();
  const rounds = async (): Promise<void> => {
    await first;
    for (let n = 0; ; n += 1) {
      const soon = AGAIN_MS[n];
      await sleep(soon ?? STEADY_MS, undefined, { signal: stopped.signal });
      // Each is asked: it remembers who has died.
      const died = workers.filter(({ haveDied }) => haveDied());
      if (soon !== undefined || died.length > 0) await round();
    }
  };
  // Ends by being stopped, and only so: `reap` reports its own failures.
  rounds().catch(() => {});
  const stop = (): Promise<void> => {
    stopped.abort();
    for (const { leave } of workers) leave();
    return Promise.resolve();
  };
  return { first, stop };
}

/**
 * An activity is failed by its id alone: by another that looked at the same time, an attempt that
 * has just begun elsewhere would be.
 */
async function reap({ client, taskQueues, lockDir, log }: StartReaper): Promise<void> {
  try {
    await withLock(lockDir, { doing: "taking over dead workers' work", waitMs: LOCK_MS }, () =>
      look(client, taskQueues),
    );
  } catch (error) {
    if (error instanceof LockHeld) return;
    log(
      'warn',
      `cannot take over the work of dead workers at once: ${String(error)}; it goes on when their heartbeats time out`,
    );
  }
}

async function look(client: Client, taskQueues: readonly string[]): Promise<void> {
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
 * Sessions that are idle, parked or wait for a decision have nothing to take over, but for those
 * that a call asks while it runs.
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
  const before = await orphans(client, workflowId);
  if (before.length === 0) return;
  await client.workflowService.resetStickyTaskQueue({
    namespace: client.options.namespace,
    execution: { workflowId },
  });
  // A live worker may have begun one meanwhile: look again just before.
  const now = await orphans(client, workflowId);
  const gone = ApplicationFailure.create({ type: 'WorkerGone', message: 'its worker is dead', nextRetryDelay: 1 });
  for (const activityId of now) await client.activity.fail({ workflowId, activityId }, gone).catch(unlessTaken);
}

/** Another worker was faster, or the session is over: there is nothing left to take. */
function unlessTaken(error: unknown): void {
  if (error instanceof ActivityNotFoundError || error instanceof WorkflowNotFoundError) return;
  if (grpcFailure(error).code !== GRPC.notFound) throw error;
}

/** Ids of started activities whose worker is dead. */
async function orphans(client: Client, workflowId: string): Promise<string[]> {
  const { raw } = await client.workflow.getHandle(workflowId).describe();
  return (raw.pendingActivities ?? []).flatMap(({ activityId, lastWorkerIdentity, state }) => {
    const identity = parseIdentity(lastWorkerIdentity ?? '');
    const started = BEGUN.includes(state);
    return activityId && started && identity && isAlive(identity) === 'dead' ? [activityId] : [];
  });
}

// The workers that this data folder has had: a file each, which a worker takes away when it ends.
// One that is left behind says that its worker died, and only then is there something to take over.

const schema = identitySchema.extend({ taskQueue: z.string() });

/**
 * Rounds in which the sessions of a dead worker are looked at: a server that was killed with it
 * lists them late.
 */
const ROUNDS = 3;

type HostWorkers = {
  /**
   * Whether a worker of the queue has died that was not looked after in enough rounds. Counts this
   * round.
   */
  haveDied(): boolean;
  /** This process is no worker any more. */
  leave(): void;
};

/** Adds this process. */
export function joinWorkers(dir: string, taskQueue: string): HostWorkers {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const own = processIdentity();
  const path = freePath(dir, `${own.pid}-${own.startTime}`);
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

/** A process may have several workers, as tests do. */
function freePath(dir: string, name: string): string {
  const taken = new Set(readdirSync(dir));
  for (let n = 0; ; n += 1) {
    const file = n === 0 ? `${name}.json` : `${name}-${n}.json`;
    if (!taken.has(file)) return join(dir, file);
  }
}
