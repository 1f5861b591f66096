// The workers of one process: connection, activities, bundled workflow, and the option values that
// were measured for one machine.
import type { Log } from '../system/log.ts';
import type { Observe } from '../store/live/observe.ts';
import { Worker, type NativeConnection, type WorkerOptions } from '@temporalio/worker';
import { formatIdentity, processIdentity } from '../system/process/identity.ts';
import {
  activityType,
  type Activities,
  type RegisteredActivities,
  type ActivityBodies,
} from '../workflows/contract/activities.ts';
import { profiles, type Profile } from '../workflows/contract/profiles.ts';
import { hostQueue, recordsQueue, TASK_QUEUE, type SessionHost } from '../workflows/contract/session.ts';
import { bundlePath } from './bundle.ts';
import { workerConverter } from '../connection/payloads/data-converter.ts';
import type { KeyRing } from '../connection/payloads/key-ring.ts';
import { seenSinks } from './monitor/watchers.ts';
import { workflowTime } from './workflow-time.ts';

export type WorkerSettings = {
  readonly connection: NativeConnection;
  readonly namespace: string;
  readonly activities: ActivityBodies;
  readonly log: Log;
  /** Payloads are sealed with these; plain without. */
  readonly keys?: KeyRing;
  readonly taskQueue?: string;
  /** Workflows kept in memory between tasks; 0 replays each from its start. */
  readonly maxCachedWorkflows?: number;
  /** Activities that run side by side, those that record apart. */
  readonly maxConcurrentActivities?: number | undefined;
  /** Absent: `machine`. */
  readonly profile?: Profile | undefined;
  /** Milliseconds in which what runs may finish when the worker is told to stop. */
  readonly drainMs?: number | undefined;
  /** Told what workflows tell. Absent: nobody listens. */
  readonly observe?: Observe | undefined;
  /** It polls a queue of this host too. */
  readonly host?: SessionHost | undefined;
};

/** The workers of one process, as `startWorker` runs them. */
export type PairedWorker = {
  /**
   * Until both have ended: after `shutdown`, or because one of them died of something, which it
   * rejects with.
   */
  run(): Promise<void>;
  /** Drains. Does nothing when it is told already. */
  shutdown(): void;
};

const DRAIN_MS = 10_000;
/** Milliseconds in which activities, told that the worker goes, end what they run. */
const CUT_MS = 15_000;

const SLOTS = 100;
/** A few writes each, and at a session's end its hooks: many sessions can end together. */
export const recordSlots = { maxConcurrentActivityTaskExecutions: 100, maxConcurrentActivityTaskPolls: 3 };

const CACHED_WORKFLOWS = 300;

/** How long is waited for a worker that holds a session, and how often a heartbeat is sent on. */
export function timesOf(profile: Profile) {
  const { sticky, throttle } = profiles[profile];
  return {
    stickyQueueScheduleToStartTimeout: sticky,
    maxHeartbeatThrottleInterval: throttle,
    defaultHeartbeatThrottleInterval: throttle,
  } satisfies Partial<WorkerOptions>;
}

/** What runs may finish for `drainMs` milliseconds; then it is told, and cut off. */
export function drainTimes(drainMs: number = DRAIN_MS) {
  return { shutdownGraceTime: drainMs, shutdownForceTime: drainMs + CUT_MS };
}

/**
 * One that works, and one for what ends or records: with one set of slots an interrupt waited until
 * a long call of another session was over. Where a store is shared, one more for what needs the
 * folders of this host: the first is then left with what any host can do.
 */
export async function createWorker(settings: WorkerSettings): Promise<PairedWorker> {
  const { connection, namespace, activities, taskQueue = TASK_QUEUE, drainMs, host } = settings;
  const { maxConcurrentActivities = SLOTS, maxCachedWorkflows = CACHED_WORKFLOWS, profile = 'machine' } = settings;
  const shared = {
    ...timesOf(profile),
    ...drainTimes(drainMs),
    connection,
    namespace,
    identity: formatIdentity(processIdentity()),
    dataConverter: workerConverter(settings.keys, settings.log),
    activities: registerActivities(activities),
  };
  const works = (): Promise<Worker> =>
    Worker.create({
      ...shared,
      ...workflowTime,
      maxCachedWorkflows,
      taskQueue,
      maxConcurrentActivityTaskExecutions: maxConcurrentActivities,
      workflowBundle: { codePath: bundlePath() },
      sinks: seenSinks(settings.observe),
    });
  const records = (): Promise<Worker> =>
    Worker.create({
      ...shared,
      taskQueue: recordsQueue(taskQueue),
      ...recordSlots,
    });
  const hosted = (at: SessionHost) => (): Promise<Worker> =>
    Worker.create({
      ...shared,
      taskQueue: hostQueue(taskQueue, at),
      maxConcurrentActivityTaskExecutions: maxConcurrentActivities,
    });
  return createTogether(
    [works, records, ...(host ? [hosted(host)] : [])].map((create) => async () => shutDownOnce(await create())),
  );
}

/**
 * One after the other. If one cannot be created, those before it are ended first: each holds the
 * connection that it was given.
 */
export async function createTogether(creators: readonly (() => Promise<PairedWorker>)[]): Promise<PairedWorker> {
  const created: PairedWorker[] = [];
  try {
    for (const create of creators) created.push(await create());
  } catch (error) {
    await discardWorker(runTogether(created));
    throw error;
  }
  return runTogether(created);
}

/**
 * A worker releases its connection only after it has run. The caller reports why creation failed;
 * how this one ends adds nothing.
 */
async function discardWorker(worker: PairedWorker): Promise<void> {
  const ended = worker.run();
  worker.shutdown();
  await ended.catch(() => undefined);
}

/** Under the names that the workflow schedules. */
export function registerActivities(activities: ActivityBodies): RegisteredActivities {
  const named = Object.entries(activities).map(([name, body]) => [activityType(name as keyof Activities), body]);
  return Object.fromEntries(named) as RegisteredActivities;
}

function shutDownOnce(worker: Worker): PairedWorker {
  return {
    run: () => worker.run(),
    shutdown: () => {
      if (worker.getState() === 'RUNNING') worker.shutdown();
    },
  };
}

function runTogether(workers: readonly PairedWorker[]): PairedWorker {
  const shutdown = (): void => {
    for (const worker of workers) worker.shutdown();
  };
  const run = async (): Promise<void> => {
    const ends = await Promise.allSettled(workers.map((worker) => worker.run().finally(shutdown)));
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
  };
  return { run, shutdown };
}
