// Sets how long a workflow may compute at a stretch. The SDK ends the whole worker over one that
// takes longer, and the next worker gets the same task: its 5 s can pass on a busy machine, or one
// that was put to sleep.
import type { CompiledWorkerOptions } from '@temporalio/worker';

/** An option of `Worker.create`, which takes it and does not list it. */
export const workflowTime = { isolateExecutionTimeout: '1 minute' } satisfies Pick<
  CompiledWorkerOptions,
  'isolateExecutionTimeout'
>;
