// A worker that takes decisions and does no work: it runs workflows and no activity. A command that ends at once can have one,
// for nothing it began would be cut off; what comes of a decision is done by a worker that stays.
import { connectionOptions } from '../../worker/embedded/connect-client.ts';
import type { RunningWorker } from '../../worker/start-worker.ts';
import { workflowTime } from '../../worker/workflow-time.ts';
import type { Opened } from './open-server.ts';
import { prepareWorker } from './own-worker.ts';

export async function startDecidingWorker(
  { target }: Pick<Opened, 'target'>,
  taskQueue: string,
  warn: (line: string) => void,
): Promise<Pick<RunningWorker, 'done' | 'stop'>> {
  await prepareWorker({ warn });
  const [{ NativeConnection, Worker }, { bundlePath }, { workerConverter }, { formatIdentity, processIdentity }] =
    await Promise.all([
      import('@temporalio/worker'),
      import('../../worker/bundle.ts'),
      import('../../worker/payloads/data-converter.ts'),
      import('../../activities/process/identity.ts'),
    ]);
  const connection = await NativeConnection.connect(connectionOptions(target));
  const worker = await Worker.create({
    ...workflowTime,
    connection,
    namespace: target.namespace,
    taskQueue,
    identity: formatIdentity(processIdentity()),
    workflowBundle: { codePath: bundlePath() },
    dataConverter: workerConverter(target.keys, warn),
    // No session sticks to it: the next worker need not wait for one that is gone.
    maxCachedWorkflows: 0,
  });
  const ended = worker.run();
  ended.catch(() => undefined);
  return {
    done: ended,
    stop: async () => {
      if (worker.getState() === 'RUNNING') worker.shutdown();
      await ended;
      await connection.close();
    },
  };
}
