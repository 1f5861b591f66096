// A worker in this process. What it needs is loaded only now: a command that finds a worker running starts faster without.
import type { Env } from '../../worker/embedded/data-folder.ts';
import type { PerdureConfig } from '../../worker/config/config.ts';
import type { RunningWorker } from '../../worker/start-worker.ts';
import type { Stops } from '../../activities/guards.ts';
import type { Opened } from './open-server.ts';

export type OwnWorker = {
  readonly env: Env;
  readonly warn: (message: string) => void;
  /** What a person configured of it; absent: the defaults. */
  readonly config?: PerdureConfig | undefined;
  readonly taskQueue: string;
  /** It works on a second one, that of its own configuration. */
  readonly ownQueue?: string;
  /** It stops this run, and begins nothing. */
  readonly stops?: Stops;
};

/** Loads it while the server starts. A program that set up Temporal's runtime already keeps its own. */
export async function prepareWorker({ warn }: Pick<OwnWorker, 'warn'>): Promise<void> {
  const [{ installRuntime }, { IllegalStateError }] = await Promise.all([
    import('../../worker/install-runtime.ts'),
    import('@temporalio/common'),
    import('../../worker/start-worker.ts'),
  ]);
  try {
    installRuntime(warn);
  } catch (error) {
    if (!(error instanceof IllegalStateError)) throw error;
  }
}

/** Resolves when it polls. */
export async function startOwnWorker({ target, folder, embedded }: Opened, own: OwnWorker): Promise<RunningWorker> {
  const { env, warn, config, taskQueue, ownQueue, stops } = own;
  await prepareWorker(own);
  const { startWorker } = await import('../../worker/start-worker.ts');
  const { storeDir, liveDir, root } = folder;
  const folders = { storeDir, liveDir, dataDir: root };
  return startWorker({
    ...target,
    ...folders,
    profile: embedded ? 'machine' : 'fleet',
    env: { ...env },
    warn,
    taskQueue,
    ...(ownQueue !== undefined && { ownQueue }),
    ...(config && { config }),
    ...(stops && { stops }),
  });
}
