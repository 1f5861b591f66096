// Creates the workers of one process: connection, activities, bundled workflow, and the option
// values that were measured for one machine.
import type { Log } from '../system/log.ts';
import type { Observe } from '../store/live/observe.ts';
import { Worker, type NativeConnection, type WorkerOptions } from '@temporalio/worker';
import type { CommandPolicy } from '../tools/sandbox.ts';
import { BEAT_NAME, COMMANDS_NAME } from '../connection/worker-beats.ts';
import { VERSION } from './version.ts';
import { formatIdentity, processIdentity } from '../system/process/identity.ts';
import {
  activityType,
  type Activities,
  type RegisteredActivities,
  type ActivityBodies,
} from '../workflows/contract/activities.ts';
import { profiles, type Profile } from '../workflows/contract/profiles.ts';
import { hostQueue, recordsQueue, TASK_QUEUE, type SessionHost } from '../workflows/contract/session.ts';
import { bundleId, bundlePath } from './bundle.ts';
import { versionOptions, type WorkerDeployment } from './config/deployment.ts';
import { createWorkerConverter } from '../connection/payloads/data-converter.ts';
import type { KeyRing } from '../connection/payloads/key-ring.ts';
import { keptWorkflows, memoryThereIs } from './follow-memory.ts';
import { createSeenSinks } from './monitor/watchers.ts';
import { TimedWorker } from './timed-worker.ts';
import { workflowTaskSlots, workflowTime } from './workflow-tasks.ts';

type WorkerSettings = {
  readonly connection: NativeConnection;
  readonly namespace: string;
  readonly activities: ActivityBodies;
  readonly log: Log;
  /** The keys that seal payloads; without them payloads are plain. */
  readonly keys?: KeyRing;
  readonly taskQueue?: string;
  /**
   * Workflows that are kept in memory between tasks; 0 replays each from its start. Absent: as many
   * as the memory allows.
   */
  readonly maxCachedWorkflows?: number;
  /** Activities that run side by side, apart from those that record. */
  readonly maxConcurrentActivities?: number | undefined;
  /** Absent: `machine`. */
  readonly profile?: Profile | undefined;
  /** Milliseconds in which running work may finish when the worker is told to stop. */
  readonly drainMs?: number | undefined;
  /** Receives the observations of workflows; absent: they are dropped. */
  readonly observe?: Observe | undefined;
  /** The host whose queue the worker polls too. */
  readonly host?: SessionHost | undefined;
  /** How commands of agents run here, for heartbeats; absent: they do not say it. */
  readonly commands?: CommandPolicy | undefined;
  /** The build that this worker is of; absent: its queues are unversioned. */
  readonly deployment?: WorkerDeployment | undefined;
};

/** The workers of one process, as `startWorker` runs them. */
export type PairedWorker = {
  /**
   * Resolves when all have ended after `shutdown`; rejects when one of them died, with the reason.
   */
  run(): Promise<void>;
  /** Begins to drain; does nothing when it drains already. */
  shutdown(): void;
};

export const DRAIN_MS = 10_000;
/** Milliseconds in which activities, told that the worker goes, end what they run. */
const CUT_MS = 15_000;

const SLOTS = 100;
/**
 * Slots for activities that make a few writes each, and at a session's end run its hooks: many
 * sessions can end together.
 */
export const recordSlots = { maxConcurrentActivityTaskExecutions: 100, maxConcurrentActivityTaskPolls: 3 };

/**
 * Returns how long is waited for a worker that holds a session, and how often a heartbeat is sent
 * on.
 */
export function timesOfProfile(profile: Profile) {
  const { sticky, throttle } = profiles[profile];
  return {
    stickyQueueScheduleToStartTimeout: sticky,
    maxHeartbeatThrottleInterval: throttle,
    defaultHeartbeatThrottleInterval: throttle,
  } satisfies Partial<WorkerOptions>;
}

/**
 * Returns the times of draining: running work may finish for `drainMs` milliseconds, and is then
 * told to end, and cut off.
 */
export function drainTimes(drainMs: number = DRAIN_MS) {
  return { shutdownGraceTime: drainMs, shutdownForceTime: drainMs + CUT_MS };
}

/**
 * Creates a worker that works, and one for activities that end or record: with one set of slots an
 * interrupt waited until a long call of another session was over. Where a store is shared, a third
 * is for steps that need the folders of this host, and the first does what any host can do.
 */
export async function createWorker(settings: WorkerSettings): Promise<PairedWorker> {
  const { connection, namespace, activities, taskQueue = TASK_QUEUE, drainMs, host } = settings;
  const { maxCachedWorkflows = keptWorkflows(memoryThereIs(), 1) } = settings;
  const { commands, maxConcurrentActivities = SLOTS, profile = 'machine' } = settings;
  const shared = {
    ...timesOfProfile(profile),
    ...drainTimes(drainMs),
    connection,
    namespace,
    identity: formatIdentity(processIdentity()),
    plugins: [`${BEAT_NAME}${VERSION}`, ...(commands ? [`${COMMANDS_NAME}${commands}`] : [])].map((name) => ({ name })),
    dataConverter: createWorkerConverter(settings.keys, settings.log),
    activities: registerActivities(activities),
  };
  const id = await bundleId();
  const versioned = { ...shared, ...versionOptions(settings.deployment, id) };
  const createMain = (): Promise<Worker> =>
    TimedWorker.create({
      ...versioned,
      ...workflowTime,
      ...workflowTaskSlots(profile, maxCachedWorkflows),
      maxCachedWorkflows,
      taskQueue,
      maxConcurrentActivityTaskExecutions: maxConcurrentActivities,
      workflowBundle: { codePath: bundlePath() },
      sinks: createSeenSinks(settings.observe),
    });
  const createRecorder = (): Promise<Worker> =>
    Worker.create({
      ...versioned,
      taskQueue: recordsQueue(taskQueue),
      ...recordSlots,
    });
  const createHostWorker = (at: SessionHost) => (): Promise<Worker> =>
    Worker.create({
      ...shared,
      ...versionOptions(undefined, id),
      taskQueue: hostQueue(taskQueue, at),
      maxConcurrentActivityTaskExecutions: maxConcurrentActivities,
    });
  return createTogether(
    [createMain, createRecorder, ...(host ? [createHostWorker(host)] : [])].map(
      (create) => async () => asPairedWorker(await create()),
    ),
  );
}

/**
 * Creates workers one after the other. If one cannot be created, those before it are ended first:
 * each holds the connection that it was given.
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
 * Runs and ends a worker, because it releases its connection only then. The caller reports why
 * creation failed; how this one ends adds nothing.
 */
async function discardWorker(worker: PairedWorker): Promise<void> {
  const running = worker.run();
  worker.shutdown();
  await running.catch(() => undefined);
}

/** Returns the activities under the names that the workflow schedules. */
export function registerActivities(activities: ActivityBodies): RegisteredActivities {
  const named = Object.entries(activities).map(([name, body]) => [activityType(name as keyof Activities), body]);
  return Object.fromEntries(named) as RegisteredActivities;
}

function asPairedWorker(worker: Worker): PairedWorker {
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
