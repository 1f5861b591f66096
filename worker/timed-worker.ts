// A Temporal worker that watches from outside their thread how long workflows compute. The SDK's
// own watch begins and joins a thread of the system for each of the dozens of calls into a workflow
// that a replay takes: on a busy machine a replay waited for these longer than it computed.
import type { Worker as Thread } from 'node:worker_threads';
import { Worker, type CompiledWorkerOptions, type Logger } from '@temporalio/worker';
import type { Workflow, WorkflowCreator } from '@temporalio/worker/lib/workflow/interface.js';

type Bundle = Parameters<(typeof Worker)['createWorkflowCreator']>[0];

/** The SDK's creator, which computes workflows in threads. */
type Threaded = WorkflowCreator & { readonly workerThreadClients: readonly { readonly workerThread: Thread }[] };

export class TimedWorker extends Worker {
  protected static override async createWorkflowCreator(
    bundle: Bundle,
    options: CompiledWorkerOptions,
    logger: Logger,
  ): Promise<WorkflowCreator> {
    const { isolateExecutionTimeoutMs: limitMs, debugMode } = options;
    const unwatched = { ...options, isolateExecutionTimeoutMs: undefined as unknown as number };
    const creator = await super.createWorkflowCreator(bundle, unwatched, logger);
    // Workflows are debugged in the thread of the worker, which cannot watch itself.
    if (debugMode) return creator;
    return watchTime(creator, limitMs, (workflow) => {
      logger.error(`workflow ${workflow} has computed for ${limitMs / 1_000} s: this worker ends`);
      for (const { workerThread } of (creator as Threaded).workerThreadClients) void workerThread.terminate();
    });
  }
}

/** Calls `late` when a workflow computes for longer than `limitMs` at a stretch. */
function watchTime(creator: WorkflowCreator, limitMs: number, late: (workflow: string) => void): WorkflowCreator {
  return {
    createWorkflow: async (options) => {
      const { workflowId } = options.info;
      const timed = async <T>(computed: Promise<T>): Promise<T> => {
        const timer = setTimeout(late, limitMs, workflowId);
        try {
          return await computed;
        } finally {
          clearTimeout(timer);
        }
      };
      const workflow = await timed(creator.createWorkflow(options));
      return {
        activate: (activation) => timed(workflow.activate(activation)),
        getAndResetSinkCalls: () => workflow.getAndResetSinkCalls(),
        dispose: () => workflow.dispose(),
      } satisfies Workflow;
    },
    destroy: () => creator.destroy(),
  };
}
