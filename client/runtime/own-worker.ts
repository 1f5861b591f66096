// Starts a worker in this process. Its code loads only now, so a command that finds a running
// worker starts faster.
import type { Log } from '../../system/log.ts';
import type { Env } from '../../connection/data-folder.ts';
import type { PerdureConfig } from '../../worker/config/config.ts';
import type { WorkerDeployment } from '../../worker/config/deployment.ts';
import type { StartedWorker } from '../../worker/start-worker.ts';
import type { StopOrder } from '../../activities/guards.ts';
import { type OpenedServer } from './open-server.ts';
import { loadApart } from './bundled.ts';

export type OwnWorker = {
  readonly env: Env;
  readonly log: Log;
  /** A person's configuration of it; absent: the defaults. */
  readonly config?: PerdureConfig | undefined;
  readonly taskQueue: string;
  /** A second queue to work on, that of its own configuration. */
  readonly ownQueue?: string;
  /** The stop that this worker is to carry out; with one it begins no run. */
  readonly stops?: StopOrder;
  /** Logs a line for each event of a run. */
  readonly logEvents?: boolean;
  /** Address for the metrics of Temporal's runtime. */
  readonly exporter?: string | undefined;
  /** The build that it is of; absent: its queues are unversioned. */
  readonly deployment?: WorkerDeployment | undefined;
};

const A_WORKER = 'a worker of its own';

/**
 * Loads the worker while the server starts. A program that has set up Temporal's runtime keeps its
 * own.
 */
export async function prepareWorker({ log, exporter }: Pick<OwnWorker, 'log' | 'exporter'>): Promise<void> {
  const [{ installRuntime }, { IllegalStateError }] = await Promise.all([
    loadApart('install-runtime', A_WORKER),
    import('@temporalio/common'),
    loadApart('start-worker', A_WORKER),
  ]);
  try {
    installRuntime(log, exporter);
  } catch (error) {
    if (!(error instanceof IllegalStateError)) throw error;
  }
}

/** Resolves when the worker polls. */
export async function startOwnWorker(
  { target, folder, embedded }: OpenedServer,
  own: OwnWorker,
): Promise<StartedWorker> {
  const { env, log, config, taskQueue, ownQueue, stops, deployment, logEvents = false } = own;
  await prepareWorker(own);
  const { startWorker } = await loadApart('start-worker', A_WORKER);
  const { storePlace, storeKeys, liveDir, liveUrl, root } = folder;
  const folders = { storePlace, storeKeys, liveDir, liveUrl, dataDir: root };
  return startWorker({
    ...target,
    ...folders,
    profile: embedded ? 'machine' : 'fleet',
    env: { ...env },
    log,
    logEvents,
    taskQueue,
    deployment,
    ...(ownQueue !== undefined && { ownQueue }),
    ...(config && { config }),
    ...(stops && { stops }),
  });
}
