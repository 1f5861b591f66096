// A worker in this process. What it needs is loaded only now: a command that finds a worker running
// starts faster without.
import type { Log } from '../../system/log.ts';
import type { Env } from '../../connection/data-folder.ts';
import type { PerdureConfig } from '../../worker/config/config.ts';
import type { RunningWorker } from '../../worker/start-worker.ts';
import type { StopOrder } from '../../activities/guards.ts';
import { loadApart } from './bundled.ts';
import type { Opened } from './open-server.ts';
import { pause } from '../../system/async.ts';
import { ClientProblem } from '../problem.ts';

export type OwnWorker = {
  readonly env: Env;
  readonly log: Log;
  /** A person's configuration of it; absent: the defaults. */
  readonly config?: PerdureConfig | undefined;
  readonly taskQueue: string;
  /** It works on a second one, that of its own configuration. */
  readonly ownQueue?: string;
  /** It stops this run, and begins nothing. */
  readonly stops?: StopOrder;
  /** Its log has a line for each event of a run. */
  readonly logEvents?: boolean;
  /** Where the metrics of Temporal's runtime are to be had. */
  readonly exporter?: string | undefined;
};

const A_WORKER = 'a worker of its own';

/**
 * Loads it while the server starts. A program that set up Temporal's runtime already keeps its own.
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

/** Resolves when it polls. */
export async function startOwnWorker({ target, folder, embedded }: Opened, own: OwnWorker): Promise<RunningWorker> {
  const { env, log, config, taskQueue, ownQueue, stops, logEvents = false } = own;
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
    ...(ownQueue !== undefined && { ownQueue }),
    ...(config && { config }),
    ...(stops && { stops }),
  });
}

// Whoever brings up a worker is told whose work it takes up beside what it was brought up for.

/** Sessions that are named; of the rest, how many. */
const NAMED = 5;

export type Taking = {
  readonly sessions: Pick<Opened['sessions'], 'list'>;
  readonly queues: readonly string[];
  /** The one that the worker is brought up for. */
  readonly session?: string | undefined;
  readonly say: (line: string) => void;
};

/**
 * To be asked before our worker polls: until then those of its queues wait. What the server does
 * not answer is not told.
 */
export async function sayWhoseWork({ sessions, queues, session, say }: Taking): Promise<void> {
  const others: string[] = [];
  try {
    for await (const info of sessions.list({ open: true }))
      if (info.phase === 'waiting_worker' && info.session !== session && queues.includes(info.taskQueue))
        others.push(info.session);
  } catch (error) {
    if (!(error instanceof ClientProblem)) throw error;
    return;
  }
  if (others.length === 0) return;
  const more = others.length > NAMED ? ` and ${others.length - NAMED} more` : '';
  say(`also working on ${others.slice(0, NAMED).join(', ')}${more}, which waited for a worker`);
}

// Sees to it that somebody works while a command waits for a run: a worker that stays when there is
// one, else one of our own. When the one that stays dies meanwhile, ours takes over.

type Running = Pick<RunningWorker, 'done' | 'stop'>;

export type KeepWorker = {
  /** Other living processes that poll, and stay for as long as it takes. */
  readonly others: () => number;
  readonly start: () => Promise<Running>;
  /** Milliseconds between looks. */
  readonly everyMs?: number;
};

export type KeptWorker = {
  /** At once while another works, else when ours polls. Rejects when ours cannot be started. */
  readonly ready: Promise<unknown>;
  /** Rejects when ours cannot be started or died of something. Resolves only after `stop`. */
  readonly ended: Promise<void>;
  /** Drains ours, when there is one. */
  stop(): Promise<void>;
};

const LOOK_MS = 500;

export function keepWorker({ others, start, everyMs = LOOK_MS }: KeepWorker): KeptWorker {
  const stopped = new AbortController();
  let own: Promise<Running> | null = null;
  const work = async (): Promise<void> => {
    while (others() > 0) if (!(await pause(everyMs, stopped.signal))) return;
    // Ours stays to the end, also when another comes: handing over would only move work twice.
    own = start();
    await (
      await own
    ).done;
  };
  const ended = work();
  // Whoever waits for a run races with it; until then it must not count as unhandled.
  ended.catch(() => undefined);
  const ready = Promise.resolve(own);
  ready.catch(() => undefined);
  return {
    ready,
    ended,
    stop: async () => {
      stopped.abort();
      // One that is still starting is stopped when it has started: half of it cannot be. Why it
      // failed is in `ended`.
      const running = await own?.catch(() => null);
      await running?.stop();
    },
  };
}
