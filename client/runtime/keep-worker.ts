// Keeps a worker available while a command waits for a run: a permanent worker if one runs, else
// one of our own. If the permanent worker dies meanwhile, ours takes over.
import type { RunningWorker } from '../../worker/start-worker.ts';
import { pause } from '../../system/async.ts';
import type { OpenedServer } from './open-server.ts';
import { ClientProblem } from '../problem.ts';

type Running = Pick<RunningWorker, 'done' | 'stop'>;

type KeepWorker = {
  /** Counts other living processes that poll and stay. */
  readonly others: () => number;
  readonly start: () => Promise<Running>;
  /** Milliseconds between looks. */
  readonly everyMs?: number;
};

export type AvailableWorker = {
  /** Whether it began with one of our own. */
  readonly isOwn: boolean;
  /**
   * Resolves at once while another worker runs, else when ours polls. Rejects when ours cannot be
   * started.
   */
  readonly ready: Promise<unknown>;
  /** Rejects when ours cannot be started or dies. Resolves only after `stop`. */
  readonly ended: Promise<void>;
  /** Drains our worker if one was started. */
  stop(): Promise<void>;
};

const LOOK_MS = 500;

export function keepWorker({ others, start, everyMs = LOOK_MS }: KeepWorker): AvailableWorker {
  const stopped = new AbortController();
  let own: Promise<Running> | null = null;
  const work = async (): Promise<void> => {
    while (others() > 0) if (!(await pause(everyMs, stopped.signal))) return;
    // Ours stays to the end, even when another comes: handing over would only move work twice.
    own = start();
    await (
      await own
    ).done;
  };
  const completion = work();
  // A caller that waits for a run races with it; until then a rejection must not count as
  // unhandled.
  completion.catch(() => undefined);
  const ready = Promise.resolve(own);
  ready.catch(() => undefined);
  return {
    isOwn: own !== null,
    ready,
    ended: completion,
    stop: async () => {
      stopped.abort();
      // A worker that is still starting stops after it has started, since half of it cannot be
      // stopped. `ended` has the reason of a failure.
      const running = await own?.catch(() => null);
      await running?.stop();
    },
  };
}

/**
 * Runs `act` once a worker is there: what is asked of a session before that may be given up while
 * the worker starts. Rejects when ours cannot be started, or dies.
 */
export async function actWithWorker<T>(
  { ready, ended: completion }: Pick<AvailableWorker, 'ready' | 'ended'>,
  act: () => Promise<T>,
): Promise<T> {
  const acted = ready.then(act);
  await Promise.race([acted, completion]);
  return await acted;
}

/** Most sessions to name; the rest is counted. */
const MOST_NAMED = 5;

type Taking = {
  readonly sessions: Pick<OpenedServer['sessions'], 'list'>;
  readonly queues: readonly string[];
  /** The session that the worker is brought up for. */
  readonly session?: string | undefined;
  readonly say: (line: string) => void;
};

/**
 * Tells whose work a new worker takes up in addition. Call it before the worker polls, while
 * sessions of its queues still wait. Says nothing when the server does not answer.
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
  const more = others.length > MOST_NAMED ? ` and ${others.length - MOST_NAMED} more` : '';
  say(`also working on ${others.slice(0, MOST_NAMED).join(', ')}${more}, which waited for a worker`);
}
