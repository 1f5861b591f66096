// Sets how many workflow tasks a worker holds at once, and how long a workflow may compute at a
// stretch. A task's time runs from the moment the worker has it, also while it waits for the one
// thread that computes them all.
import type { CompiledWorkerOptions, WorkerOptions } from '@temporalio/worker';
import { profiles, type Profile } from '../workflows/contract/profiles.ts';

/**
 * An option of `Worker.create`, which takes it and does not list it. The SDK ends the whole worker
 * over a computation that takes longer, and the next worker gets the same task: the SDK's own 5 s
 * can pass on a busy machine, or one that was put to sleep.
 */
export const workflowTime = { isolateExecutionTimeout: '1 minute' } satisfies Pick<
  CompiledWorkerOptions,
  'isolateExecutionTimeout'
>;

/** One is replayed, one waits: without a cache the SDK works on one at a time. */
const UNCACHED_SLOTS = 2;

/**
 * Returns the most workflow tasks that are taken at once; those beyond wait on the server, where
 * no time runs. The SDK's own 40 ran into their time-outs together on a busy machine, and each that
 * did was replayed from its start.
 */
export function workflowTaskSlots(profile: Profile, maxCachedWorkflows: number) {
  const slots = maxCachedWorkflows === 0 ? UNCACHED_SLOTS : profiles[profile].workflowTasks;
  return { maxConcurrentWorkflowTaskExecutions: slots } satisfies Partial<WorkerOptions>;
}
