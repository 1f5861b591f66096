// A worker: connection, activities, bundled workflow, and the option values that were measured for one machine.
import { Worker, type NativeConnection, type WorkerOptions } from '@temporalio/worker';
import { createActivities } from '../activities/index.ts';
import type { Deps } from '../activities/deps.ts';
import { formatIdentity, processIdentity } from '../activities/process-identity.ts';
import { TASK_QUEUE } from '../workflows/contract/session.ts';
import { bundlePath } from './bundle.ts';

export type WorkerSettings = {
  readonly connection: NativeConnection;
  readonly namespace: string;
  readonly deps: Deps;
  readonly taskQueue?: string;
  /** Workflows kept in memory between tasks; 0 replays each from its start. */
  readonly maxCachedWorkflows?: number;
};

/** A deploy waits this long for activities, then tells them, then ends. */
const profile = {
  stickyQueueScheduleToStartTimeout: '1s',
  maxHeartbeatThrottleInterval: '500ms',
  defaultHeartbeatThrottleInterval: '500ms',
  shutdownGraceTime: '10s',
  shutdownForceTime: '25s',
  maxCachedWorkflows: 300,
} satisfies Partial<WorkerOptions>;

export function createWorker({
  connection,
  namespace,
  deps,
  taskQueue,
  maxCachedWorkflows,
}: WorkerSettings): Promise<Worker> {
  return Worker.create({
    ...profile,
    ...(maxCachedWorkflows === undefined ? {} : { maxCachedWorkflows }),
    connection,
    namespace,
    taskQueue: taskQueue ?? TASK_QUEUE,
    identity: formatIdentity(processIdentity()),
    workflowBundle: { codePath: bundlePath() },
    activities: createActivities(deps),
  });
}
