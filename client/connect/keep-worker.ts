// Sees to it that somebody works while a command waits for a run: a worker that stays when there is one, else one of our own.
// When the one that stays dies meanwhile, ours takes over.
import type { RunningWorker } from '../../worker/start-worker.ts';
import { pause } from '../pause.ts';

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
      // One that is still starting is stopped when it has started: half of it cannot be. Why it failed is in `ended`.
      const running = await own?.catch(() => null);
      await running?.stop();
    },
  };
}
