// Runs a server and a worker for `worker` and `dev`, until a signal or until the worker dies.
import { resolve } from 'node:path';
import type { Log } from '../system/log.ts';
import {
  openLogStream,
  createWorkerLog,
  createSupervision,
  readDeployment,
  requireOwnServer,
  resolveConnection,
  superviseServer,
} from '../client/faces/staying.ts';
import type {
  RunningWorker,
  OpenedServer,
  MonitorFlags,
  Monitor,
  ChosenConfig,
  DumpFlags,
  UnconfinedFlag,
  SilenceTeller,
  SilentSession,
  PerdureClient,
} from '../client/faces/types.ts';
import { TASK_QUEUE } from '../client/faces/basics.ts';
import { openWholeServer } from '../client/faces/servers.ts';
import { prepareWorker, startOwnWorker, sayWhoseWork } from '../client/faces/processes.ts';
import { refuseBesideNewer, openMonitor, watchFleet, withDump, withUnconfined } from '../client/faces/flags.ts';
import { nowText } from '../client/faces/words.ts';
import { silenceOf } from '../client/faces/lists.ts';
import { personAt } from './arguments.ts';
import type { Cli } from './cli.ts';
import { STATUS } from './errors.ts';
import { askUnconfined, type LogFlags, refuseToSpoil, workerConfig, workersOfNew } from './worker-config.ts';
import { waitForAbort, openUnlessTold, listenForSignals } from './signals.ts';
import { keepHeapSmall, WORKER_HEAP } from '../system/keep-heap-small.ts';
import { pause } from '../system/async.ts';
import { reasonOf } from '../system/text.ts';

export type Staying = {
  readonly opened: OpenedServer;
  readonly worker: RunningWorker;
  /** The monitor; null when metrics were not asked for. */
  readonly monitor: Monitor | null;
};

type StayingWorker = {
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

type WatchSilence = {
  readonly sessions: Pick<PerdureClient, 'list'>;
  /** The teller; null without such hooks. */
  readonly teller: SilenceTeller | null;
  /** Gets a line when sessions cannot be looked at. */
  readonly say: (line: string) => void;
  /** Milliseconds between looks; absent: a tenth of the silence, at most half a minute. */
  readonly everyMs?: number;
};

const MOST_BETWEEN_MS = 30_000;

/**
 * Looks for runs without progress for some time, for the hooks `silent` of this process's worker
 * (O14). The returned function ends it and resolves when nothing of it runs.
 */
export function watchSilence({ sessions, teller, say, everyMs }: WatchSilence): () => Promise<void> {
  if (teller === null) return () => Promise.resolve();
  const stop = new AbortController();
  const watching = lookOn(
    { sessions, teller, say },
    everyMs ?? Math.min(MOST_BETWEEN_MS, teller.afterMs / 10),
    stop.signal,
  );
  return () => {
    stop.abort();
    return watching;
  };
}

type Watched = Omit<WatchSilence, 'everyMs'> & { readonly teller: SilenceTeller };

async function lookOn(watch: Watched, everyMs: number, signal: AbortSignal): Promise<void> {
  const telling = new Set<Promise<void>>();
  while (await pause(everyMs, signal)) {
    try {
      for await (const run of findSilent(watch, signal)) {
        const report = watch.teller
          .tell(run, signal)
          .catch((error: unknown) => watch.say(`silent run ${run.session} cannot be told: ${reasonOf(error)}`))
          .finally(() => telling.delete(report));
        telling.add(report);
      }
    } catch (error) {
      if (!signal.aborted) watch.say(`silent runs cannot be looked for: ${reasonOf(error)}`);
    }
  }
  await Promise.all(telling);
}

async function* findSilent({ sessions, teller }: Watched, signal: AbortSignal): AsyncIterable<SilentSession> {
  const idle = `idle>${Math.ceil(teller.afterMs / 1_000)}s`;
  for await (const found of sessions.list({ filter: `phase:running ${idle}`, open: true, signal })) {
    const { session, title, cwd, facts, running } = found;
    if (!running || (silenceOf(found, Date.now()) ?? 0) < teller.afterMs) continue;
    const { lastSign, doing } = running;
    // A run that only waits for its agents is told of by their own sessions.
    if (doing.length > 0 && doing.every(({ kind }) => kind === 'agents')) continue;
    yield { session, title, cwd, depth: facts?.agent?.depth ?? 0, lastSign, doing: nowText(running) || null };
  }
}
