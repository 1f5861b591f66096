// The exports of `perdure/plugin`: agents inside a Temporal worker of the user's own (Q3). The
// user's workflows, activities, data converter, codec, interceptors, logger, task queue and
// connection stay theirs; everything that the plugin adds has names of its own.
import '../../system/process/supported.ts';
import { join, resolve } from 'node:path';
import { Client } from '@temporalio/client';
import { NativeConnection, Runtime, Worker } from '@temporalio/worker';
import type { BundleOptions, ReplayWorkerOptions, WorkerOptions, WorkerPlugin } from '@temporalio/worker';
import type { Deps } from '../../activities/deps.ts';
import { createActivities } from '../../activities/index.ts';
import type { Log } from '../../system/log.ts';
import { formatIdentity, processIdentity } from '../../system/process/identity.ts';
import type { RegisteredActivities } from '../../workflows/contract/activities.ts';
import type { Profile } from '../../workflows/contract/profiles.ts';
import { hostQueue, recordsQueue, type SessionHost } from '../../workflows/contract/session.ts';
import { defaultsOfConfig } from '../config/config-defaults.ts';
import { checkConfig, ConfigProblem, type PerdureConfig } from '../config/config.ts';
import { type DrainPolicy, readDrainPolicy } from '../config/session-host.ts';
import { createDeps } from '../create-deps.ts';
import { drainTimes, recordSlots, registerActivities, timesOfProfile } from '../create-worker.ts';
import { type DataFolder, openDataFolder, openNamedKeys, type Env } from '../../connection/data-folder.ts';
import { openNetwork } from '../../connection/network/network.ts';
import { isKeyless, openModelAccess } from '../model-access.ts';
import { noteNamespace } from '../../connection/store-namespaces.ts';
import { commandNotice, commandPolicy } from '../../tools/sandbox.ts';
import { recordCommandPolicy } from '../monitor/metrics.ts';
import { leaveSessions } from '../hosts/leave-sessions.ts';
import { hostPartsOf, watchHosted } from '../hosts/watch-hosted.ts';
import { openWatchers, createSeenSinks } from '../monitor/watchers.ts';
import { startReaper } from '../reaper.ts';
import { SetupProblem } from '../../system/setup-problem.ts';
import { workflowTime } from '../workflow-tasks.ts';
import { refuseForeignBundle, refuseOtherCopy, withAgents } from './user-bundle.ts';

export type PluginOptions = {
  /**
   * The configuration, as in a configuration file; its `drainMs` and `maxConcurrentActivities` are
   * the worker's own affair.
   */
  readonly config?: PerdureConfig;
  /** The workspace of agents that name none. Absent: the folder in which the worker was started. */
  readonly cwd?: string;
  /**
   * The environment in which data folder, store and model are found. Absent: that of this process.
   */
  readonly env?: Env;
  /** Absent: `fleet`, the times for a server that many share. */
  readonly profile?: Profile;
};

/**
 * The parts that are open for the worker of a plugin; they are closed when the worker has ended.
 */
type OpenedParts = {
  /** The user's connection; absent: the worker makes one of its own. */
  readonly connection: NativeConnection | undefined;
  readonly taskQueue: string;
  readonly activities: RegisteredActivities;
  readonly folder: DataFolder;
  readonly deps: Deps;
  readonly host: SessionHost | undefined;
  readonly onDrain: DrainPolicy;
  readonly close: () => Promise<void>;
};

/**
 * Runs agents in `Worker.create({ …, plugins: [new PerdurePlugin({ config })] })`;
 * `bundleWorkflowCode`, `Worker.runReplayHistory` and a client take the plugin too. One plugin is
 * for one worker. The constructor throws ConfigProblem; creating the worker throws SetupProblem and
 * ConfigProblem.
 */
export class PerdurePlugin implements WorkerPlugin {
  readonly name = 'perdure';
  readonly #options: PluginOptions;
  readonly #config: PerdureConfig;
  #cwd: string | undefined;
  #opened: OpenedParts | null = null;

  constructor(options: PluginOptions = {}) {
    this.#options = options;
    this.#config = checkConfig(options.config ?? {}, 'the configuration of PerdurePlugin');
    this.#cwd = options.cwd === undefined ? undefined : resolve(options.cwd);
  }

  async configureWorker(options: WorkerOptions): Promise<WorkerOptions> {
    const { taskQueue, connection } = options;
    if (this.#isOwn(options)) return options;
    if (this.#opened) throw new ConfigProblem('this PerdurePlugin belongs to another worker: make one for each');
    refuseOwnNames(options);
    refuseOtherCopy(options);
    refuseForeignBundle(options);
    if (!options.workflowsPath && !options.workflowBundle) warnOfNoWorkflows(taskQueue);
    this.#cwd ??= process.cwd();
    const { env = process.env, profile = 'fleet' } = this.#options;
    refuseKeyless(env);
    const onDrain = readDrainPolicy(env);
    const log = runtimeLog();
    const folder = openDataFolder(env);
    const network = openNetwork(env);
    const access = await openModelAccess({ ...env }, network);
    const defaults = defaultsOfConfig(this.#config);
    const { storePlace, storeKeys, liveDir, liveUrl, root: dataDir } = folder;
    const keys = openNamedKeys(env);
    const place = { storePlace, storeKeys, keys, liveDir, liveUrl, dataDir, env: { ...env }, network };
    const watchers = openWatchers({ env, log, dataDir, network });
    const { observe } = watchers;
    const deps = await createDeps({ ...this.#config, ...place, access, defaults, ...watchers });
    recordCommandPolicy(Runtime.instance().metricMeter, commandPolicy(deps.sandbox));
    const notice = commandNotice(deps.sandbox);
    if (notice !== null) log('warn', notice);
    const activities = registerActivities(createActivities(deps));
    const close = async (): Promise<void> => {
      await deps.hooks.close();
      await deps.servers?.close();
      await deps.runServers?.close();
      deps.prepared?.close();
      await deps.background?.close();
      for (const one of [deps.live, access, watchers, network]) await one.close();
    };
    this.#opened = { connection, taskQueue, activities, folder, deps, host: deps.host, onDrain, close };
    return {
      ...drainTimes(this.#config.drainMs),
      ...throttleOf(profile),
      ...workflowTime,
      identity: formatIdentity(processIdentity()),
      ...options,
      activities: { ...options.activities, ...activities },
      sinks: { ...options.sinks, ...createSeenSinks(observe) },
    };
  }

  configureReplayWorker(options: ReplayWorkerOptions): ReplayWorkerOptions {
    refuseForeignBundle(options);
    return { ...workflowTime, ...options };
  }

  /**
   * Puts the user's module and ours into one bundle, whose `runAgent` starts agents on the queue of
   * the worker that it is in.
   */
  configureBundler(options: BundleOptions): BundleOptions {
    return withAgents(options, this.#cwd, this.#options.env ?? process.env);
  }

  /**
   * Runs, next to the user's worker, one for activities that end or record, and the look for
   * workers of this machine that have died.
   */
  async runWorker(worker: Worker, next: (worker: Worker) => Promise<void>): Promise<void> {
    const opened = this.#opened;
    if (!opened || this.#isOwn(worker.options)) return next(worker);
    const own = openOwnWorkers(opened, worker.options);
    try {
      await runTogether(worker, next(worker), own);
    } finally {
      await own.then(({ end }) => end()).catch(() => undefined);
      await opened.close();
    }
  }

  /**
   * Tells whether a worker is the plugin's own, which also takes the plugins of its connection,
   * this one among them.
   */
  #isOwn({ taskQueue }: Pick<WorkerOptions, 'taskQueue'>): boolean {
    return this.#opened !== null && ownQueues(this.#opened).includes(taskQueue);
  }
}

/**
 * Returns the queues for activities that end or record and, where a store is shared, for those that
 * need the folders of this host.
 */
function ownQueues({ taskQueue, host }: Pick<OpenedParts, 'taskQueue' | 'host'>): readonly string[] {
  return [recordsQueue(taskQueue), ...(host ? [hostQueue(taskQueue, host)] : [])];
}

type Final = Worker['options'];

type OwnWorkers = {
  readonly workers: readonly Worker[];
  /** Runs between the end of the user's worker and that of the others. */
  readonly leave: () => Promise<void>;
  readonly end: () => Promise<void>;
};

/**
 * Opens the plugin's own workers. `options` are those that the user's worker has after all plugins.
 * A worker without a connection of the user's closes its own itself.
 */
async function openOwnWorkers(opened: OpenedParts, options: Final): Promise<OwnWorkers> {
  const { taskQueue, folder, deps } = opened;
  const connection = opened.connection ?? (await NativeConnection.connect());
  const closeOwn = async (): Promise<void> => (opened.connection ? undefined : connection.close());
  try {
    const workers = await createOwnWorkers(opened, connection, options);
    const { namespace, loadedDataConverter: dataConverter } = options;
    const client = new Client({ connection, namespace, dataConverter });
    noteNamespace(deps.store, client, runtimeLog());
    const dirs = { lockDir: join(folder.root, 'reaper'), workersDir: join(folder.root, 'workers') };
    const reaper = startReaper({ client, taskQueues: [taskQueue], ...dirs, log: runtimeLog() });
    const parts = hostPartsOf(deps, client);
    const hostWatch = parts && watchHosted(parts);
    const leave = async (): Promise<void> => {
      if (!parts || opened.onDrain === 'stay') return;
      const { identity, shutdownGraceTimeMs: withinMs } = options;
      await leaveSessions(parts, { taskQueues: [taskQueue], withinMs, identity });
    };
    const end = async (): Promise<void> => {
      hostWatch?.stop();
      await reaper.stop();
      await closeOwn();
    };
    return { workers, leave, end };
  } catch (error) {
    await closeOwn();
    throw error;
  }
}

/** Options of the user's worker that hold for the plugin's own workers too. */
const SHARED = [
  'namespace',
  'identity',
  'dataConverter',
  'shutdownGraceTime',
  'shutdownForceTime',
  'maxHeartbeatThrottleInterval',
  'defaultHeartbeatThrottleInterval',
  'workerDeploymentOptions',
] as const satisfies readonly (keyof Final)[];

/** Creates the plugin's own workers, which run no workflows. */
async function createOwnWorkers(
  opened: OpenedParts,
  connection: NativeConnection,
  options: Final,
): Promise<readonly Worker[]> {
  const entries = SHARED.filter((name) => options[name] !== undefined).map((name) => [name, options[name]]);
  const { activity } = options.interceptors;
  const shared = { ...Object.fromEntries(entries), interceptors: { activity } };
  const common = { ...shared, connection, activities: opened.activities };
  const [records = '', ...hosted] = ownQueues(opened);
  const workers = [await Worker.create({ ...common, ...recordSlots, taskQueue: records })];
  // Whichever build works on a host has its folders.
  const unversioned = { ...common, workerDeploymentOptions: undefined };
  for (const taskQueue of hosted) workers.push(await Worker.create({ ...unversioned, taskQueue }));
  return workers;
}

/**
 * Runs the user's worker at once, because it may be shut down as soon as it was run, and drains it
 * first: the others record its ends meanwhile. It ends too when another could not be made or died;
 * that error is thrown.
 */
async function runTogether(worker: Worker, running: Promise<void>, created: Promise<OwnWorkers>): Promise<void> {
  const recording = created.then(({ workers }) => Promise.all(workers.map((each) => each.run())));
  recording.catch(() => {
    if (worker.getState() === 'RUNNING') worker.shutdown();
  });
  try {
    await running;
    // The worker of the host serves the last steps of its sessions.
    await created.then(({ leave }) => leave());
  } finally {
    const workers = await created.then((own) => own.workers).catch(() => []);
    for (const own of workers) if (own.getState() === 'RUNNING') own.shutdown();
    await recording;
  }
}

function throttleOf(profile: Profile): Partial<WorkerOptions> {
  const { maxHeartbeatThrottleInterval, defaultHeartbeatThrottleInterval } = timesOfProfile(profile);
  return { maxHeartbeatThrottleInterval, defaultHeartbeatThrottleInterval };
}

function refuseOwnNames({ activities }: WorkerOptions): void {
  const names = activities instanceof Map ? [...activities.keys()] : Object.keys(activities ?? {});
  const reserved = names.find((name) => String(name).startsWith('perdure.'));
  if (reserved === undefined) return;
  throw new ConfigProblem(
    `the worker has an activity "${String(reserved)}": names that begin with "perdure." are the plugin's, use another`,
  );
}

/**
 * Throws SetupProblem without a model: agents would be answered by a script, and a reader of their
 * results would not know.
 */
function refuseKeyless(env: Env): void {
  if (!isKeyless(env)) return;
  throw new SetupProblem(
    'PerdurePlugin has no model: set ANTHROPIC_API_KEY, or ANTHROPIC_BASE_URL to try a scripted one',
  );
}

/**
 * Warns of a worker without workflows, which is right where another worker of the queue has them.
 */
function warnOfNoWorkflows(taskQueue: string): void {
  const what = `this worker has no workflowsPath: it does the work of agents, and decides nothing for them`;
  runtimeLog()('warn', `${what}; the queue ${taskQueue} needs another one with workflowsPath and PerdurePlugin`);
}

/** Returns a log on the runtime's own logger: the user's, where they installed one. */
const runtimeLog = (): Log => (level, message, fields) => Runtime.instance().logger[level](message, { ...fields });
