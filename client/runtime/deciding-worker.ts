// Starts a worker that accepts decisions and does no work: it runs workflows and no activities. A
// command that ends at once can use it, because nothing that it begins can be cut off; a permanent
// worker carries the decision out.
import { NativeConnection } from '@temporalio/worker';
import type { Log } from '../../system/log.ts';
import { formatIdentity, processIdentity } from '../../system/process/identity.ts';
import { bundlePath } from '../../worker/bundle.ts';
import { connectionOptions } from '../../connection/connect-client.ts';
import { createSeenSinks } from '../../worker/monitor/watchers.ts';
import { createWorkerConverter } from '../../connection/payloads/data-converter.ts';
import type { RunningWorker } from '../../worker/start-worker.ts';
import { TimedWorker } from '../../worker/timed-worker.ts';
import { workflowTaskSlots, workflowTime } from '../../worker/workflow-tasks.ts';
import type { OpenedServer } from './open-server.ts';
import { prepareWorker } from './own-worker.ts';

export async function startDecidingWorker(
  { target }: Pick<OpenedServer, 'target'>,
  taskQueue: string,
  log: Log,
): Promise<Pick<RunningWorker, 'done' | 'stop'>> {
  await prepareWorker({ log });
  const connection = await NativeConnection.connect(connectionOptions(target));
  const worker = await TimedWorker.create({
    ...workflowTime,
    connection,
    namespace: target.namespace,
    taskQueue,
    identity: formatIdentity(processIdentity()),
    workflowBundle: { codePath: bundlePath() },
    sinks: createSeenSinks(),
    dataConverter: createWorkerConverter(target.keys, log),
    // Keep no session on this worker, so that the next one need not wait for it after it is gone.
    maxCachedWorkflows: 0,
    ...workflowTaskSlots('machine', 0),
  });
  const done = worker.run();
  done.catch(() => undefined);
  return {
    done,
    stop: async () => {
      if (worker.getState() === 'RUNNING') worker.shutdown();
      await done;
      await connection.close();
    },
  };
}
