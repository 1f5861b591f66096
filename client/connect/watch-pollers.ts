// On a server that is not ours: says when nobody polls, at first as a failure, later, when a worker went away, as a notice.
import type { Client } from '@temporalio/client';
import { pause } from '../pause.ts';
import { ClientProblem } from '../problem.ts';
import { nobodyPolls, waitForWorker, workerPolls } from './worker-polls.ts';

export type WatchPollers = {
  readonly temporal: Client;
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
  { temporal, say, onNobody, patience = pollerPatience }: WatchPollers,
  signal: AbortSignal,
): Promise<void> {
  if (!(await waitForWorker({ temporal }, patience.first, signal, patience.look)))
    return onNobody(new ClientProblem('no_worker', nobodyPolls()));
  for (let polled = true; await pause(patience.later, signal);) {
    const polls = await workerPolls({ temporal });
    if (polled && !polls) say(`${nobodyPolls()}; the session goes on when one does`);
    polled = polls;
  }
}
