// Runs a server and a worker for `worker` and `dev`, until a signal or until the worker dies.
import { resolve } from 'node:path';
import type { Log } from '../system/log.ts';
import { openLogStream, createWorkerLog } from '../worker/log.ts';
import { createSupervision, superviseServer } from '../worker/embedded/supervise-server.ts';
import type {
  RunningWorker,
  OpenedServer,
  MonitorFlags,
  Monitor,
  ChosenConfig,
  DumpFlags,
  UnconfinedFlag,
} from '../client/face-types.ts';
import { TASK_QUEUE } from '../workflows/contract/session.ts';
import { openWholeServer } from '../client/runtime/open-server.ts';
import { prepareWorker, startOwnWorker } from '../client/runtime/own-worker.ts';
import { sayWhoseWork } from '../client/runtime/say-whose-work.ts';
import { refuseBesideNewer } from '../client/runtime/newer.ts';
import { personAt } from './arguments.ts';
import type { Cli } from './cli.ts';
import { STATUS } from './errors.ts';
import { type LogFlags, workerConfig, workersOfNew } from './worker-config.ts';
import { refuseToSpoil } from './refuse-keyless.ts';
import { waitForAbort, openUnlessTold } from './open-unless-told.ts';
import { resolveConnection } from '../connection/resolve-connection.ts';
import { readDeployment, requireOwnServer } from '../worker/config/deployment.ts';
import { openMonitor, watchFleet } from '../client/runtime/monitor.ts';
import { watchSilence } from '../client/runtime/watch-silence.ts';
import { withDump } from '../client/runtime/dump-options.ts';
import { withUnconfined } from '../client/runtime/unconfined.ts';
import { askUnconfined } from './ask-unconfined.ts';
import { listenForSignals } from './signals.ts';
import { keepHeapSmall, WORKER_HEAP } from '../system/keep-heap-small.ts';

export type Staying = {
  readonly opened: OpenedServer;
  readonly worker: RunningWorker;
  /** Null when metrics were not asked for. */
  readonly monitor: Monitor | null;
};

export type StayingWorker = {
  readonly role: 'worker' | 'dev';
  /** The value of --config. */
  readonly config: string | undefined;
  readonly flags: MonitorFlags & LogFlags & DumpFlags & UnconfinedFlag & { readonly ui?: boolean };
  /** Starts even if sessions wait that only a newer Perdure can continue. */
  readonly besideNewer?: boolean;
  /**
   * Something else tells what sessions do. The log on a terminal then leaves it out, unless log
   * options are given.
   */
  readonly tells?: boolean;
};

/**
 * Calls `ready` when the worker polls; `ready` returns what to end first. Returns status 0 after a
 * signal.
 */
export async function withStayingWorker(
  original: Cli,
  { config: file, ...rest }: StayingWorker,
  ready: (staying: Staying) => Promise<() => Promise<void>>,
): Promise<number> {
  const deployment = requireOwnServer(
    readDeployment(original.env),
    resolveConnection(original.env).kind === 'embedded',
  );
  const cli = await withUnconfined(await withDump(original, rest.flags), rest.flags);
  const chosen = await workerConfig(cli, file);
  // A service that happens to have a terminal is not asked.
  if (rest.role === 'dev') await askUnconfined(cli, chosen.config);
  const monitor = await openMonitor(cli, rest.flags);
  try {
    return await runStaying(cli, { ...rest, chosen, monitor, deployment }, ready);
  } finally {
    await monitor?.close();
  }
}

type Prepared = Omit<StayingWorker, 'config'> & {
  readonly chosen: ChosenConfig;
  readonly monitor: Monitor | null;
  readonly deployment: ReturnType<typeof readDeployment>;
};

async function runStaying(
  cli: Cli,
  { role, chosen, monitor, deployment, flags, tells = false, besideNewer = true }: Prepared,
  ready: (staying: Staying) => Promise<() => Promise<void>>,
): Promise<number> {
  keepHeapSmall(WORKER_HEAP);
  const { config } = chosen;
  const signals = listenForSignals(process, (status) => process.exit(status));
  const { taskQueue: ownQueue } = await workersOfNew(cli, chosen, '');
  const log = logTo(cli, flags);
  const say = (line: string): void => log('info', line);
  const exporter = monitor?.exporter;
  const logEvents = !(tells && cli.isTerminal && isSilentAbout(flags));
  const own = { env: cli.env, log, config, taskQueue: TASK_QUEUE, ownQueue, exporter, logEvents, deployment } as const;
  // The worker's code loads while the server starts.
  const loading = prepareWorker(own);
  loading.catch(() => undefined);
  const queues = [TASK_QUEUE, ownQueue];
  const opened = await openUnlessTold(
    signals,
    openWholeServer({ env: cli.env, role, worker: true, queues, ui: flags.ui ?? false, say, ...personAt(cli) }),
  );
  if (opened === null) return STATUS.ok;
  const endSupervision = opened.embedded && superviseServer(opened.embedded, createSupervision(say));
  try {
    await loading;
    await refuseToSpoil(cli.env, opened.sessions);
    if (!besideNewer) await refuseBesideNewer({ temporal: opened.temporal.client, queues });
    await sayWhoseWork({ sessions: opened.sessions, queues, say });
    const worker = await startOwnWorker(opened, own);
    watchFleet(monitor, worker.health, { sessions: opened.sessions, say });
    const endSilence = watchSilence({ sessions: opened.sessions, teller: worker.silence, say });
    const end = await ready({ opened, worker, monitor });
    try {
      await Promise.race([waitForAbort(AbortSignal.any([signals.interrupt, signals.terminate])), worker.done]);
    } finally {
      await end();
      await endSilence();
      opened.embedded?.works(false);
      await Promise.race([worker.stop(), waitForAbort(signals.abandon)]);
    }
    return STATUS.ok;
  } finally {
    await endSupervision?.();
    await opened.close();
    signals.end();
  }
}

const isSilentAbout = ({ logFile: file, logLevel: level, logFormat: format }: LogFlags): boolean =>
  file === undefined && level === undefined && format === undefined;

/** Logs to standard error unless a file is named. */
function logTo({ cwd, env }: Cli, { logFile: file, logLevel: level, logFormat: format }: LogFlags): Log {
  const stream = file === undefined ? process.stderr : openLogStream(resolve(cwd(), file), process.stderr);
  return createWorkerLog(stream, env, { ...(level && { level }), ...(format && { format }) });
}
