// Starts one worker in this process and says when it polls. `perdure worker`, `dev`, `run` and tests all start theirs here.
import { Client, Connection } from '@temporalio/client';
import { NativeConnection, type Worker } from '@temporalio/worker';
import { createDeps } from './create-deps.ts';
import type { RunDefaults } from '../activities/deps.ts';
import type { PerdureConfig } from './config.ts';
import { configDefaults } from './config-defaults.ts';
import { createWorker } from './create-worker.ts';
import { modelAccess } from './model-access.ts';
import { startReaper } from './reaper.ts';
import { TASK_QUEUE } from '../workflows/contract/session.ts';

export type StartWorker = {
  readonly address: string;
  readonly namespace: string;
  readonly tls?: boolean | object;
  readonly apiKey?: string;
  readonly storeDir: string;
  readonly liveDir: string;
  /** Hidden from tools. */
  readonly dataDir: string;
  readonly env: NodeJS.ProcessEnv;
  readonly warn: (message: string) => void;
  /** As checkConfig accepted it. */
  readonly config?: PerdureConfig;
  /** Goes before `config`, and has what no configuration chooses. */
  readonly defaults?: Partial<RunDefaults>;
  /** Each goes before the same in `config`. */
  readonly tools?: PerdureConfig['tools'];
  readonly hooks?: PerdureConfig['hooks'];
  readonly afterStop?: PerdureConfig['afterStop'];
  readonly attachments?: PerdureConfig['attachments'];
  readonly taskQueue?: string;
  readonly maxCachedWorkflows?: number;
};

export type RunningWorker = {
  readonly taskQueue: string;
  /** One line each: the sandbox that confines tools, and whether the model is scripted. */
  readonly sandbox: string;
  readonly scripted: boolean;
  /** Drains: what runs may finish, then is told, then goes on elsewhere (L50). */
  stop(): Promise<void>;
  /** Rejects when the worker died of something; resolves after `stop`. */
  readonly done: Promise<void>;
};

export async function startWorker(settings: StartWorker): Promise<RunningWorker> {
  const { address, namespace, tls, apiKey, warn, config = {} } = settings;
  const secure = { ...(tls === undefined ? {} : { tls }), ...(apiKey === undefined ? {} : { apiKey }) };
  const access = await modelAccess(settings.env);
  const connection = await NativeConnection.connect({ address, ...secure });
  const defaults = { ...configDefaults(config), ...settings.defaults };
  const deps = await createDeps({ ...config, ...settings, defaults, access });
  const worker = await createWorker({ ...settings, connection, namespace, deps });
  const client = new Client({ connection: await Connection.connect({ address, ...secure }), namespace });
  const finished = worker.run();
  const reaper = startReaper(client, warn);
  await reaper.first;
  const done = ended(finished, [reaper.stop, () => client.connection.close(), access.close, () => connection.close()]);
  // Whoever started the worker awaits `done` or `stop`; until then its end must not count as unhandled.
  done.catch(() => undefined);
  return {
    taskQueue: settings.taskQueue ?? TASK_QUEUE,
    sandbox: deps.sandbox.describe,
    scripted: access.scripted,
    done,
    stop: () => stop(worker, done),
  };
}

/** What the worker used is closed when it has ended, however it ended. */
async function ended(finished: Promise<void>, closing: readonly (() => Promise<void>)[]): Promise<void> {
  try {
    await finished;
  } finally {
    for (const close of closing) await close();
  }
}

async function stop(worker: Worker, done: Promise<void>): Promise<void> {
  if (worker.getState() === 'RUNNING') worker.shutdown();
  await done;
}
