// A worker for programs: finds or brings up the server as every command does, and works until it is
// stopped.
import { IllegalStateError } from '@temporalio/common';
import type { Log } from '../system/log.ts';
import { TASK_QUEUE } from '../workflows/contract/session.ts';
import { didYouMean } from '../workflows/contract/did-you-mean.ts';
import { checkConfig, ConfigProblem, type PerdureConfig } from './config/config.ts';
import { forWorkersOf } from './config/queue.ts';
import { dataFolder, type Env } from '../connection/data-folder.ts';
import { findBinary } from './embedded/find-binary.ts';
import { joinServer, type Embedded, type JoinServer } from './embedded/join-server.ts';
import { resolveConnection } from '../connection/resolve-connection.ts';
import { installRuntime } from './install-runtime.ts';
import { workerLog } from './log.ts';
import { startWorker, type RunningWorker } from './start-worker.ts';

export type OpenWorker = {
  readonly config?: PerdureConfig;
  /** Where the data folder is, which server, which key. Absent: of this process. */
  readonly env?: Env;
  readonly taskQueue?: string;
  /** Absent: to standard error, JSON lines, on a terminal text. */
  readonly log?: Log;
};

const KEYS: Readonly<Record<keyof OpenWorker, true>> = { config: true, env: true, taskQueue: true, log: true };

/**
 * Resolves when it polls. The server is the one that the environment names, else the one on the
 * data folder, started if need be; the last to leave stops it. Throws ConfigProblem and
 * SetupProblem: one line for people.
 */
export async function openWorker(options: OpenWorker = {}): Promise<RunningWorker> {
  const { env = process.env, taskQueue, log = workerLog(process.stderr, env) } = options;
  const say = (line: string): void => log('info', line);
  const unknown = Object.keys(options).find((key) => !Object.hasOwn(KEYS, key));
  if (unknown !== undefined)
    throw new ConfigProblem(`createWorker() has no option "${unknown}": ${didYouMean(unknown, Object.keys(KEYS))}`);
  const config = checkConfig(options.config ?? {}, 'the configuration');
  // Known by its name alone: a value has no file.
  const ownQueue = forWorkersOf(config, { kind: 'given' }, '')?.taskQueue;
  ownRuntime(log);
  const folder = dataFolder(env);
  const resolved = resolveConnection(env);
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
      ...queues(taskQueue, ownQueue),
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
    });
    return leaving(worker, embedded);
  } catch (error) {
    await embedded?.leave();
    throw error;
  }
}

/** Who names a queue wants that one alone. */
function queues(taskQueue: string | undefined, ownQueue: string | undefined) {
  return taskQueue === undefined ? { ...(ownQueue !== undefined && { ownQueue }) } : { taskQueue };
}

/** A program that has set up Temporal's runtime keeps its own. */
function ownRuntime(log: Log): void {
  try {
    installRuntime(log);
  } catch (error) {
    if (!(error instanceof IllegalStateError)) throw error;
  }
}

function addressOf(embedded: Embedded | null): Pick<Embedded, 'address' | 'namespace' | 'keys'> {
  if (embedded === null) throw new Error('no server was joined');
  const { address, namespace, keys } = embedded;
  return { address, namespace, keys };
}

/** The server is left when the worker has ended, however it ended. */
function leaving(worker: RunningWorker, embedded: Embedded | null): RunningWorker {
  const done = ended(worker, embedded);
  done.catch(() => undefined);
  const stop = async (): Promise<void> => {
    embedded?.works(false);
    await worker.stop();
    await done;
  };
  return { ...worker, done, stop };
}

async function ended(worker: RunningWorker, embedded: Embedded | null): Promise<void> {
  try {
    await worker.done;
  } finally {
    await embedded?.leave();
  }
}
