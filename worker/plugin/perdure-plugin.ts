// The exports of `perdure/plugin`: agents inside a Temporal worker of the user's own (Q3). Their
// workflows, activities, data converter, codec, interceptors, logger, task queue and connection
// stay theirs; what the plugin adds has names of its own.
import '../../system/process/supported.ts';
import { join, resolve } from 'node:path';
import { Client } from '@temporalio/client';
import { NativeConnection, Runtime, Worker } from '@temporalio/worker';
import type { BundleOptions, ReplayWorkerOptions, WorkerOptions, WorkerPlugin } from '@temporalio/worker';
import { createActivities } from '../../activities/index.ts';
import type { Log } from '../../system/log.ts';
import { formatIdentity, processIdentity } from '../../system/process/identity.ts';
import type { RegisteredActivities } from '../../workflows/contract/activities.ts';
import type { Profile } from '../../workflows/contract/profiles.ts';
import { hostQueue, recordsQueue, type SessionHost } from '../../workflows/contract/session.ts';
import { configDefaults } from '../config/config-defaults.ts';
import { checkConfig, ConfigProblem, type PerdureConfig } from '../config/config.ts';
import type { Store } from '../../store/values/store.ts';
import { createDeps } from '../create-deps.ts';
import { drainTimes, recordSlots, registerActivities, timesOf } from '../create-worker.ts';
import { type DataFolder, dataFolder, type Env } from '../../connection/data-folder.ts';
import { openNetwork } from '../../connection/network/network.ts';
import { isKeyless, modelAccess } from '../model-access.ts';
import { noteNamespace } from '../../connection/store-users.ts';
import { openWatchers, seenSinks } from '../monitor/watchers.ts';
import { startReaper } from '../reaper.ts';
import { SetupProblem } from '../../system/setup-problem.ts';
import { workflowTime } from '../workflow-time.ts';
import { refuseForeignBundle, refuseOtherCopy, withAgents } from './user-bundle.ts';

export type PluginOptions = {
  /**
   * As in a configuration file; its `drainMs` and `maxConcurrentActivities` are the worker's own
   * affair.
   */
  readonly config?: PerdureConfig;
  /** The workspace of agents that name none. Absent: the folder in which the worker was started. */
  readonly cwd?: string;
  /** Where data folder, store and model are found. Absent: of this process. */
  readonly env?: Env;
  /** Absent: `fleet`, the times for a server that many share. */
  readonly profile?: Profile;
};

/** For the worker that is made with it: what was opened is closed when the worker has ended. */
type Opened = {
  /** The user's; absent: the worker makes one of its own. */
  readonly connection: NativeConnection | undefined;
  readonly taskQueue: string;
  readonly activities: RegisteredActivities;
  readonly folder: DataFolder;
  readonly store: Store;
  readonly host: SessionHost | undefined;
  readonly close: () => Promise<void>;
};

/**
 * `Worker.create({ …, plugins: [new PerdurePlugin({ config })] })`; `bundleWorkflowCode`,
 * `Worker.runReplayHistory` and a client take one too. One plugin is for one worker. The
 * constructor throws ConfigProblem; creating the worker throws SetupProblem and ConfigProblem.
 */
export class PerdurePlugin implements WorkerPlugin {
  readonly name = 'perdure';
  readonly #given: PluginOptions;
  readonly #config: PerdureConfig;
  #cwd: string | undefined;
  #opened: Opened | null = null;

  constructor(given: PluginOptions = {}) {
    this.#given = given;
    this.#config = checkConfig(given.config ?? {}, 'the configuration of PerdurePlugin');
    this.#cwd = given.cwd === undefined ? undefined : resolve(given.cwd);
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
    const { env = process.env, profile = 'fleet' } = this.#given;
    refuseKeyless(env);
    const log = runtimeLog();
    const folder = dataFolder(env);
    const network = openNetwork(env);
    const access = await modelAccess({ ...env }, network);
    const defaults = configDefaults(this.#config);
    const { storePlace, storeKeys, liveDir, liveUrl, root: dataDir } = folder;
    const place = { storePlace, storeKeys, liveDir, liveUrl, dataDir, env: { ...env }, network };
    const watchers = openWatchers({ env, log, dataDir, network });
    const { observe } = watchers;
    const deps = await createDeps({ ...this.#config, ...place, access, defaults, ...watchers });
    const activities = registerActivities(createActivities(deps));
    const close = async (): Promise<void> => {
      await deps.hooks.close();
      await deps.servers?.close();
      await deps.background?.close();
      for (const one of [deps.live, access, watchers, network]) await one.close();
    };
    const { store, host } = deps;
    this.#opened = { connection, taskQueue, activities, folder, store, host, close };
    return {
      ...drainTimes(this.#config.drainMs),
      ...throttleOf(profile),
      ...workflowTime,
      identity: formatIdentity(processIdentity()),
      ...options,
      activities: { ...options.activities, ...activities },
      sinks: { ...options.sinks, ...seenSinks(observe) },
    };
  }

  configureReplayWorker(options: ReplayWorkerOptions): ReplayWorkerOptions {
    refuseForeignBundle(options);
    return { ...workflowTime, ...options };
  }

  /**
   * The user's module and ours in one bundle, whose `runAgent` starts agents on the queue of the
   * worker that it is in.
   */
  configureBundler(options: BundleOptions): BundleOptions {
    return withAgents(options, this.#cwd, this.#given.env ?? process.env);
  }

  /**
   * Beside the user's worker: a second one for what ends or records, and the look for workers of
   * this machine that have died.
   */
  async runWorker(worker: Worker, next: (worker: Worker) => Promise<void>): Promise<void> {
    const opened = this.#opened;
    if (!opened || this.#isOwn(worker.options)) return next(worker);
    const beside = openBeside(opened, worker.options);
    try {
      await runBeside(
        worker,
        next(worker),
        beside.then(({ workers }) => workers),
      );
    } finally {
      await beside.then(({ end }) => end()).catch(() => undefined);
      await opened.close();
    }
  }

  /** The worker that this plugin made takes the plugins of its connection, this one among them. */
  #isOwn({ taskQueue }: Pick<WorkerOptions, 'taskQueue'>): boolean {
    return this.#opened !== null && ownQueues(this.#opened).includes(taskQueue);
  }
}

/**
 * For what ends or records, and, where a store is shared, for what needs the folders of this host.
 */
function ownQueues({ taskQueue, host }: Pick<Opened, 'taskQueue' | 'host'>): readonly string[] {
  return [recordsQueue(taskQueue), ...(host ? [hostQueue(taskQueue, host)] : [])];
}

type Final = Worker['options'];

type Beside = { readonly workers: readonly Worker[]; readonly end: () => Promise<void> };

/**
 * `options`: those that the worker has after all plugins. A worker without a connection of the
 * user's closes its own itself.
 */
async function openBeside(opened: Opened, options: Final): Promise<Beside> {
  const { taskQueue, folder, store } = opened;
  const connection = opened.connection ?? (await NativeConnection.connect());
  const closeOwn = async (): Promise<void> => (opened.connection ? undefined : connection.close());
  try {
    const workers = await createOwnWorkers(opened, connection, options);
    const { namespace, loadedDataConverter: dataConverter } = options;
    const client = new Client({ connection, namespace, dataConverter });
    noteNamespace(store, client, runtimeLog());
    const dirs = { lockDir: join(folder.root, 'reaper'), workersDir: join(folder.root, 'workers') };
    const reaper = startReaper({ client, taskQueues: [taskQueue], ...dirs, log: runtimeLog() });
    const end = async (): Promise<void> => {
      await reaper.stop();
      await closeOwn();
    };
    return { workers, end };
  } catch (error) {
    await closeOwn();
    throw error;
  }
}

/** What holds for the workers beside the user's as it does for that one. */
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

/** They run no workflows. */
async function createOwnWorkers(
  opened: Opened,
  connection: NativeConnection,
  options: Final,
): Promise<readonly Worker[]> {
  const given = SHARED.filter((name) => options[name] !== undefined).map((name) => [name, options[name]]);
  const { activity } = options.interceptors;
  const shared = { ...Object.fromEntries(given), interceptors: { activity } };
  const common = { ...shared, connection, activities: opened.activities };
  const [records = '', ...hosted] = ownQueues(opened);
  const workers = [await Worker.create({ ...common, ...recordSlots, taskQueue: records })];
  for (const taskQueue of hosted) workers.push(await Worker.create({ ...common, taskQueue }));
  return workers;
}

/**
 * The user's worker runs at once, for it may be shut down as soon as it was run, and drains first:
 * what it ends is recorded meanwhile. It ends too when the other could not be made or died; that is
 * thrown.
 */
async function runBeside(worker: Worker, running: Promise<void>, made: Promise<readonly Worker[]>): Promise<void> {
  const recording = made.then((own) => Promise.all(own.map((each) => each.run())));
  recording.catch(() => {
    if (worker.getState() === 'RUNNING') worker.shutdown();
  });
  try {
    await running;
  } finally {
    for (const own of await made.catch(() => [])) if (own.getState() === 'RUNNING') own.shutdown();
    await recording;
  }
}

function throttleOf(profile: Profile): Partial<WorkerOptions> {
  const { maxHeartbeatThrottleInterval, defaultHeartbeatThrottleInterval } = timesOf(profile);
  return { maxHeartbeatThrottleInterval, defaultHeartbeatThrottleInterval };
}

function refuseOwnNames({ activities }: WorkerOptions): void {
  const names = activities instanceof Map ? [...activities.keys()] : Object.keys(activities ?? {});
  const taken = names.find((name) => String(name).startsWith('perdure.'));
  if (taken === undefined) return;
  throw new ConfigProblem(
    `the worker has an activity "${String(taken)}": names that begin with "perdure." are the plugin's, use another`,
  );
}

/** Its agents would be answered by a script, and nobody who reads their results would know. */
function refuseKeyless(env: Env): void {
  if (!isKeyless(env)) return;
  throw new SetupProblem(
    'PerdurePlugin has no model: set ANTHROPIC_API_KEY, or ANTHROPIC_BASE_URL to try a scripted one',
  );
}

/** Meant where another worker of the queue has them. */
function warnOfNoWorkflows(taskQueue: string): void {
  const what = `this worker has no workflowsPath: it does the work of agents, and decides nothing for them`;
  runtimeLog()('warn', `${what}; the queue ${taskQueue} needs another one with workflowsPath and PerdurePlugin`);
}

/** The runtime's own logger: the user's, where they installed one. */
const runtimeLog = (): Log => (level, message, fields) => Runtime.instance().logger[level](message, { ...fields });
