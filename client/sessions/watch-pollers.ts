// Watches a server that is not ours for pollers. At first their absence is a failure; later, after
// a worker went away, it is a notice.
import type { Client } from '@temporalio/client';
import { pause } from '../../system/async.ts';
import { type ForWorkers, forAnyWorker } from '../../workflows/contract/task-queue.ts';
import { ClientProblem } from '../problem.ts';
import { isQueuePolled, waitForWorker } from '../../connection/worker-polls.ts';
import { describeNoWorker } from './no-worker.ts';

type WatchPollers = {
  readonly temporal: Client;
  /** Absent: those of the queue that every staying worker polls. */
  readonly workers?: ForWorkers;
  readonly session?: string;
  readonly say: (line: string) => void;
  readonly onNobody: (why: ClientProblem) => void;
  readonly patience?: PollerPatience;
};

/** Milliseconds. */
type PollerPatience = { readonly first: number; readonly look: number; readonly later: number };

/** A person waits no longer than `first` to learn that no worker runs. */
export const pollerPatience: PollerPatience = { first: 8_000, look: 1_000, later: 20_000 };

export function watchPollers(watching: WatchPollers): { stop(): Promise<void> } {
  const stopped = new AbortController();
  // The follower reports a server that does not answer.
  const done = watch(watching, stopped.signal).catch(() => undefined);
  return {
    stop: () => {
      stopped.abort();
      return done;
    },
  };
}

async function watch(
  { temporal, workers = forAnyWorker, session, say, onNobody, patience = pollerPatience }: WatchPollers,
  signal: AbortSignal,
): Promise<void> {
  const { taskQueue } = workers;
  const noWorker = describeNoWorker(workers, session);
  if (!(await waitForWorker({ temporal, taskQueue }, patience.first, signal, patience.look)))
    return onNobody(new ClientProblem('no_worker', noWorker));
  for (let polled = true; await pause(patience.later, signal);) {
    const polls = await isQueuePolled({ temporal, taskQueue });
    if (polled && !polls) say(`${noWorker}; the session goes on when one does`);
    polled = polls;
  }
}
