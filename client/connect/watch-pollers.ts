// On a server that is not ours: says when nobody polls, at first as a failure, later, when a worker went away, as a notice.
import type { Client } from '@temporalio/client';
import { type ForWorkers, forAnyWorker } from '../../worker/config/queue.ts';
import { pause } from '../pause.ts';
import { ClientProblem } from '../problem.ts';
import { waitForWorker, workerPolls } from './worker-polls.ts';
import { nobodyWorks } from './worker-words.ts';

export type WatchPollers = {
  readonly temporal: Client;
  /** Absent: those of the queue that every worker that stays polls. */
  readonly workers?: ForWorkers;
  readonly session?: string;
  readonly say: (line: string) => void;
  readonly onNobody: (why: ClientProblem) => void;
  readonly patience?: PollerPatience;
};

/** Milliseconds. */
export type PollerPatience = { readonly first: number; readonly look: number; readonly later: number };

/** A person waits no longer than `first` to hear that nobody works. */
export const pollerPatience: PollerPatience = { first: 8_000, look: 1_000, later: 20_000 };

export function watchPollers(watching: WatchPollers): { stop(): Promise<void> } {
  const stopped = new AbortController();
  // A server that does not answer is the follower's to tell.
  const ended = watch(watching, stopped.signal).catch(() => undefined);
  return {
    stop: () => {
      stopped.abort();
      return ended;
    },
  };
}

async function watch(
  { temporal, workers = forAnyWorker, session, say, onNobody, patience = pollerPatience }: WatchPollers,
  signal: AbortSignal,
): Promise<void> {
  const { taskQueue } = workers;
  const nobody = nobodyWorks(workers, session);
  if (!(await waitForWorker({ temporal, taskQueue }, patience.first, signal, patience.look)))
    return onNobody(new ClientProblem('no_worker', nobody));
  for (let polled = true; await pause(patience.later, signal);) {
    const polls = await workerPolls({ temporal, taskQueue });
    if (polled && !polls) say(`${nobody}; the session goes on when one does`);
    polled = polls;
  }
}
