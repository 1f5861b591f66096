// Opens a worker for programs: it finds or brings up the server as every command does, and works
// until it is stopped.
import { IllegalStateError } from '@temporalio/common';
import type { Log } from '../system/log.ts';
import { TASK_QUEUE } from '../workflows/contract/session.ts';
import { didYouMean } from '../workflows/contract/did-you-mean.ts';
import { checkConfig, ConfigProblem, type PerdureConfig } from './config/config.ts';
import { deploymentProblem, readDeployment, requireOwnServer, type WorkerDeployment } from './config/deployment.ts';
import { forWorkersOf } from './config/queue.ts';
import { openDataFolder, type Env } from '../connection/data-folder.ts';
import { findBinary } from './embedded/find-binary.ts';
import { joinServer, type EmbeddedServer, type JoinServer } from './embedded/join-server.ts';
import { resolveConnection } from '../connection/resolve-connection.ts';
import { installRuntime } from './install-runtime.ts';
import { createWorkerLog } from './log.ts';
import { startWorker, type RunningWorker } from './start-worker.ts';

export type CreateWorker = {
  readonly config?: PerdureConfig;
  /**
   * The environment, which names the data folder, the server and the key. Absent: that of this
   * process.
   */
  readonly env?: Env;
  readonly taskQueue?: string;
  /** Absent: JSON lines on standard error, or text on a terminal. */
  readonly log?: Log;
  /**
   * The Worker Deployment and the build of this worker (D5), on a Temporal server of your own.
   * Absent: as PERDURE_DEPLOYMENT and PERDURE_VERSIONING of the environment say, else none.
   */
  readonly deployment?: WorkerDeployment;
};

const KEYS: Readonly<Record<keyof CreateWorker, true>> = {
  config: true,
  env: true,
  taskQueue: true,
  log: true,
  deployment: true,
};

/**
 * Resolves when the worker polls. The server is the one that the environment names, else the one on
 * the data folder, started if need be; the last to leave stops it. Throws ConfigProblem and
 * SetupProblem with one line for people.
 */
export async function openWorker(options: CreateWorker = {}): Promise<RunningWorker> {
  const { env = process.env, taskQueue, log = createWorkerLog(process.stderr, env) } = options;
  const say = (line: string): void => log('info', line);
  const unknown = Object.keys(options).find((key) => !Object.hasOwn(KEYS, key));
  if (unknown !== undefined)
    throw new ConfigProblem(`createWorker() has no option "${unknown}": ${didYouMean(unknown, Object.keys(KEYS))}`);
  const config = checkConfig(options.config ?? {}, 'the configuration');
  // It is known by its name alone, because a value has no file.
  const ownQueue = forWorkersOf(config, { kind: 'given' }, '')?.taskQueue;
  const resolved = resolveConnection(env);
  const deployment = requireOwnServer(deploymentOf(options, env), resolved.kind === 'embedded');
  tryInstallRuntime(log);
  const folder = openDataFolder(env);
  const join: JoinServer = {
    folder,
    env,
    say,
    role: 'worker',
    worker: true,
    queues: taskQueue === undefined ? [TASK_QUEUE, ...(ownQueue === undefined ? [] : [ownQueue])] : [taskQueue],
    binary: (wanted) => findBinary({ env, wanted, say }),
  };
  const embedded = resolved.kind === 'embedded' ? await joinServer(join) : null;
  try {
    const { storePlace, storeKeys, liveDir, liveUrl, root: dataDir } = folder;
    const target = resolved.kind === 'embedded' ? addressOf(embedded) : resolved;
    const worker = await startWorker({
      ...target,
      ...queueOptions(taskQueue, ownQueue),
      profile: embedded ? 'machine' : 'fleet',
      storePlace,
      storeKeys,
      liveDir,
      liveUrl,
      dataDir,
      env: { ...env },
      log,
      logEvents: true,
      config,
      deployment,
    });
    return leaveWhenDone(worker, embedded);
  } catch (error) {
    await embedded?.leave();
    throw error;
  }
}

/** Throws ConfigProblem for a deployment that a program names wrongly. */
function deploymentOf({ deployment }: CreateWorker, env: Env): WorkerDeployment | undefined {
  if (deployment === undefined) return readDeployment(env);
  const problem = deploymentProblem(deployment);
  if (problem === undefined) return deployment;
  throw new ConfigProblem(`createWorker() has a wrong \`deployment\`: ${problem}`);
}

/** A caller that names a queue wants that one alone. */
function queueOptions(taskQueue: string | undefined, ownQueue: string | undefined) {
  return taskQueue === undefined ? { ...(ownQueue !== undefined && { ownQueue }) } : { taskQueue };
}

/** Installs the runtime, unless the program has set up Temporal's runtime itself. */
function tryInstallRuntime(log: Log): void {
  try {
    installRuntime(log);
  } catch (error) {
    if (!(error instanceof IllegalStateError)) throw error;
  }
}

function addressOf(embedded: EmbeddedServer | null): Pick<EmbeddedServer, 'address' | 'namespace' | 'keys'> {
  if (embedded === null) throw new Error('no server was joined');
  const { address, namespace, keys } = embedded;
  return { address, namespace, keys };
}

/** Leaves the server when the worker has ended, however it ended. */
function leaveWhenDone(worker: RunningWorker, embedded: EmbeddedServer | null): RunningWorker {
  const done = leaveAfter(worker, embedded);
  done.catch(() => undefined);
  const stop = async (): Promise<void> => {
    embedded?.works(false);
    await worker.stop();
    await done;
  };
  return { ...worker, done, stop };
}

async function leaveAfter(worker: RunningWorker, embedded: EmbeddedServer | null): Promise<void> {
  try {
    await worker.done;
  } finally {
    await embedded?.leave();
  }
}
