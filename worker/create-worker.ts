// A worker: connection, activities, bundled workflow, and the option values that were measured for one machine.
import { Worker, type NativeConnection, type WorkerOptions } from '@temporalio/worker';
import { createActivities } from '../activities/index.ts';
import type { Deps } from '../activities/deps.ts';
import { formatIdentity, processIdentity } from '../activities/process-identity.ts';
import type { Stops } from '../activities/begin-nothing.ts';
import { TASK_QUEUE } from '../workflows/contract/session.ts';
import { bundlePath } from './bundle.ts';
import { workflowTime } from './workflow-time.ts';

export type WorkerSettings = {
  readonly connection: NativeConnection;
  readonly namespace: string;
  readonly deps: Deps;
  /** It stops this run, and begins nothing. */
  readonly stops?: Stops;
  readonly taskQueue?: string;
  /** Workflows kept in memory between tasks; 0 replays each from its start. */
  readonly maxCachedWorkflows?: number;
  /** Milliseconds in which what runs may finish when the worker is told to stop. */
  readonly drainMs?: number | undefined;
};

const DRAIN_MS = 10_000;
/** Milliseconds in which activities, told that the worker goes, end what they run. */
const CUT_MS = 15_000;

const profile = {
  stickyQueueScheduleToStartTimeout: '1s',
  maxHeartbeatThrottleInterval: '500ms',
  defaultHeartbeatThrottleInterval: '500ms',
  maxCachedWorkflows: 300,
} satisfies Partial<WorkerOptions>;

export function createWorker({
  connection,
  namespace,
  deps,
  stops,
  taskQueue,
  maxCachedWorkflows,
  drainMs = DRAIN_MS,
}: WorkerSettings): Promise<Worker> {
  return Worker.create({
    ...profile,
    ...workflowTime,
    shutdownGraceTime: drainMs,
    shutdownForceTime: drainMs + CUT_MS,
    ...(maxCachedWorkflows === undefined ? {} : { maxCachedWorkflows }),
    connection,
    namespace,
    taskQueue: taskQueue ?? TASK_QUEUE,
    identity: formatIdentity(processIdentity()),
    workflowBundle: { codePath: bundlePath() },
    activities: createActivities(deps, stops),
  });
}
