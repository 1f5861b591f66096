// Starts one worker in this process and says when it polls. `perdure worker`, `dev`, `run` and
// tests all start theirs here.
import type { Log } from '../system/log.ts';
import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import { IllegalStateError, NativeConnection, Runtime } from '@temporalio/worker';
import { createActivities } from '../activities/index.ts';
import { createDeps } from './create-deps.ts';
import type { RunDefaults } from '../activities/deps.ts';
import { commandNotice, commandPolicy } from '../tools/sandbox.ts';
import { defaultsOfConfig } from './config/config-defaults.ts';
import { type PerdureConfig } from './config/config.ts';
import { formatDeployment, notCurrentNotice, type WorkerDeployment } from './config/deployment.ts';
import { readDrainPolicy } from './config/session-host.ts';
import { createTogether, createWorker, DRAIN_MS, type PairedWorker } from './create-worker.ts';
import { keptWorkflows, memoryThereIs } from './follow-memory.ts';
import { connectClient, connectionOptions, type Target } from '../connection/connect-client.ts';
import { readGrpcFailure } from '../connection/grpc-failure.ts';
import { healthOf } from './monitor/health.ts';
import { SetupProblem } from '../system/setup-problem.ts';
import { reasonOf } from '../system/text.ts';
import { openModelAccess } from './model-access.ts';
import { formatIdentity, processIdentity } from '../system/process/identity.ts';
import { openNetwork } from '../connection/network/network.ts';
import { noteNamespace } from '../connection/store-namespaces.ts';
import { recordCommandPolicy } from './monitor/metrics.ts';
import { leaveSessions } from './hosts/leave-sessions.ts';
import { hostPartsOf, watchHosted } from './hosts/watch-hosted.ts';
import { openWatchers } from './monitor/watchers.ts';
import { startReaper } from './reaper.ts';
import { createSilenceTeller, type SilenceTeller } from './silence-teller.ts';
import type { KeyRing } from '../connection/payloads/key-ring.ts';
import type { StopOrder } from '../activities/guards.ts';
import type { Profile } from '../workflows/contract/profiles.ts';
import { TASK_QUEUE, type SessionHost } from '../workflows/contract/session.ts';

export type StartWorker = Target & {
  readonly storePlace: string;
  /** The keys that seal the records of a bucket. */
  readonly storeKeys?: KeyRing | undefined;
  readonly liveDir: string;
  /** The address of a Redis to use instead of the folder. */
  readonly liveUrl?: string | undefined;
  /** The data folder, which is hidden from tools. */
  readonly dataDir: string;
  /** The host of the sessions; absent: found where the store is shared, else none. */
  readonly host?: SessionHost;
  readonly env: NodeJS.ProcessEnv;
  readonly log: Log;
  /** True gives the log a line for each event of a run. */
  readonly logEvents?: boolean;
  /** The configuration, as checkConfig accepted it. */
  readonly config?: PerdureConfig;
  /** Defaults that go before `config`, and hold what no configuration chooses. */
  readonly defaults?: Partial<RunDefaults>;
  /** Each of these goes before the same key in `config`. */
  readonly tools?: PerdureConfig['tools'];
  readonly mcpServers?: PerdureConfig['mcpServers'];
  readonly toolEnv?: PerdureConfig['toolEnv'];
  readonly webFetch?: PerdureConfig['webFetch'];
  readonly hooks?: PerdureConfig['hooks'];
  readonly afterStop?: PerdureConfig['afterStop'];
  readonly attachments?: PerdureConfig['attachments'];
  /** The run that this worker stops; it begins nothing. */
  readonly stops?: StopOrder;
  readonly taskQueue?: string;
  /** The profile, unless the configuration names one. Absent: `machine`. */
  readonly profile?: Profile;
  /** A second queue that it works on: that of its own configuration. */
  readonly ownQueue?: string | undefined;
  /**
   * Sessions that each queue keeps in memory between tasks. Absent: as many as the memory allows.
   */
  readonly maxCachedWorkflows?: number;
  /** The build that this worker is of; absent: its queues are unversioned. */
  readonly deployment?: WorkerDeployment | undefined;
};

export type RunningWorker = {
  readonly taskQueue: string;
  /** One line that describes the sandbox that confines tools. */
  readonly sandbox: string;
  /** Whether commands of agents run confined, are refused, or run unconfined by permission. */
  readonly commands: 'confined' | 'refused' | 'unconfined';
  /** One line for people where commands of agents are refused or not confined; else null. */
  readonly unconfined: string | null;
  readonly scripted: boolean;
  /** `name:build` of its Worker Deployment, and its versioning; null for an unversioned worker. */
  readonly deployment: string | null;
  /**
   * Resolves to sentences that say what keeps the worker from its work now; empty when it takes
   * work.
   */
  health(): Promise<readonly string[]>;
  /**
   * Drains: running work may finish for `drainMs`, is then cut off, and the run goes on elsewhere
   * (L50).
   */
  stop(): Promise<void>;
  /** Resolves after `stop`; rejects when the worker died, with the reason. */
  readonly done: Promise<void>;
};

/** A worker with what the look for silent sessions needs of it. */
export type StartedWorker = RunningWorker & {
  /** Tells the hooks `silent` of what another look finds; null without such hooks. */
  readonly silence: SilenceTeller | null;
};

type Close = () => Promise<void>;

/**
 * Throws SetupProblem when the server or the key cannot be used. Everything that was opened is
 * closed when a later step fails.
 */
export async function startWorker(settings: StartWorker): Promise<StartedWorker> {
  const opened: Close[] = [];
  const onDrain = readDrainPolicy(settings.env);
  const { worker, deps, client, access } = await openParts(settings, opened).catch(async (error: unknown) => {
    await closeAll(opened);
    throw error;
  });
  let isDraining = false;
  let isOver = false;
  // A worker that is cut off, where the server does not answer, ends with an error. It is logged,
  // and the work goes on elsewhere.
  const finished = worker.run().catch((error: unknown) => {
    if (!isDraining) throw error;
  });
  const { taskQueue = TASK_QUEUE, dataDir, log } = settings;
  const dirs = { lockDir: join(dataDir, 'reaper'), workersDir: join(dataDir, 'workers') };
  const reaper = startReaper({ client, taskQueues: queuesOf(settings), ...dirs, log });
  const parts = settings.stops ? null : hostPartsOf(deps, client);
  const hostWatch = parts && watchHosted(parts);
  const closeLast = [...opened, reaper.stop, deps.live.close, () => deps.hooks.close()];
  const done = closeAfter(
    finished.finally(() => hostWatch?.stop()),
    closeLast,
  );
  // The caller awaits `done` or `stop`; until then the worker's end must not count as unhandled.
  void done.catch(() => undefined).then(() => (isOver = true));
  await reaper.first;
  if (!settings.stops) access.prepare();
  const { deployment } = settings;
  if (deployment) await logIfNotCurrent(client, deployment, log);
  return {
    taskQueue,
    sandbox: deps.sandbox.describe,
    commands: commandPolicy(deps.sandbox),
    unconfined: commandNotice(deps.sandbox),
    scripted: deps.scripted,
    deployment: deployment ? formatDeployment(deployment) : null,
    silence: createSilenceTeller(settings.hooks ?? settings.config?.hooks ?? {}, {
      hooks: deps.hooks,
      store: deps.store,
      log,
    }),
    done,
    health: () =>
      healthOf({ client, store: deps.store }, () => (isOver ? 'it has ended' : isDraining ? 'it drains' : null)),
    stop: async () => {
      isDraining = true;
      if (parts && onDrain === 'leave') {
        const identity = formatIdentity(processIdentity());
        const leaving = { taskQueues: queuesOf(settings), withinMs: settings.config?.drainMs ?? DRAIN_MS, identity };
        await Promise.race([leaveSessions(parts, leaving), done]);
      }
      return stopWorker(worker, done);
    },
  };
}

/** A build that isn't current looks idle for no reason. */
async function logIfNotCurrent(client: Client, deployment: WorkerDeployment, log: Log): Promise<void> {
  try {
    const notice = await notCurrentNotice(client, deployment);
    if (notice !== undefined) log('warn', notice);
  } catch (error) {
    log('warn', `whether build ${deployment.build} is current is unknown: ${readGrpcFailure(error).why}`);
  }
}

/**
 * Opens the parts of a worker, and adds at once to `opened` how to close each. The worker comes
 * last: its connection cannot be closed.
 */
async function openParts(settings: StartWorker, opened: Close[]) {
  const { namespace, config = {} } = settings;
  const network = openNetwork(settings.env);
  opened.push(network.close);
  const access = await openModelAccess(settings.env, network);
  opened.push(access.close);
  // The client is first, because it says best why a server cannot be reached.
  const { client, close } = await connectClient(settings);
  opened.push(close);
  const connection = await workerConnection(settings);
  opened.push(() => closeUnlessHeld(connection));
  const defaults = { ...defaultsOfConfig(config), ...settings.defaults };
  const watchers = openWatchers({ ...settings, network });
  opened.push(watchers.close);
  const { observe } = watchers;
  const deps = await createDeps({ ...config, ...settings, ...watchers, defaults, access, network });
  opened.push(async () => {
    deps.prepared?.close();
    await Promise.all([
      deps.servers?.close(),
      deps.runServers?.close(),
      deps.background?.close(),
      deps.snapshots?.close(),
    ]);
  });
  const commands = commandPolicy(deps.sandbox);
  recordCommandPolicy(Runtime.instance().metricMeter, commands);
  const { drainMs, maxConcurrentActivities, profile = settings.profile } = config;
  noteNamespace(deps.store, client, deps.log);
  const activities = createActivities(deps, settings.stops);
  // A worker that only stops a run takes no other work.
  const host = settings.stops ? undefined : deps.host;
  const queues = queuesOf(settings);
  const { maxCachedWorkflows = keptWorkflows(memoryThereIs(), queues.length) } = settings;
  const limits = { drainMs, maxConcurrentActivities, maxCachedWorkflows, profile, host, observe, commands };
  const pairs = queues.map(
    (taskQueue) => () => createWorker({ ...settings, taskQueue, connection, namespace, activities, ...limits }),
  );
  return { worker: await createTogether(pairs), deps, client, access };
}

function queuesOf({ taskQueue = TASK_QUEUE, ownQueue }: StartWorker): readonly string[] {
  return ownQueue === undefined || ownQueue === taskQueue ? [taskQueue] : [taskQueue, ownQueue];
}

async function workerConnection(target: Target): Promise<NativeConnection> {
  try {
    return await NativeConnection.connect(connectionOptions(target));
  } catch (error) {
    const what = `no worker can connect to the Temporal server at ${target.address}: ${reasonOf(error)}`;
    throw new SetupProblem(`${what}; see that it runs, and that its TLS settings are right`, { cause: error });
  }
}

/** Closes a connection, unless a worker that was cut off holds it until the process ends. */
async function closeUnlessHeld(connection: NativeConnection): Promise<void> {
  try {
    await connection.close();
  } catch (error) {
    if (!(error instanceof IllegalStateError)) throw error;
  }
}

/** Closes everything that the worker used when it has ended, however it ended. */
async function closeAfter(finished: Promise<void>, opened: readonly Close[]): Promise<void> {
  try {
    await finished;
  } finally {
    await closeAll(opened);
  }
}

/** Closes the last opened first: what is closing may still need what was there before it. */
async function closeAll(opened: readonly Close[]): Promise<void> {
  for (const close of opened.toReversed()) await close();
}

async function stopWorker(worker: PairedWorker, done: Promise<void>): Promise<void> {
  worker.shutdown();
  await done;
}
