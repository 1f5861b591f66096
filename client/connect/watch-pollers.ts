// On a server that is not ours: says when nobody polls, at first as a failure, later, when a worker went away, as a notice.
import type { Client } from '@temporalio/client';
import { pause } from '../pause.ts';
import { ClientProblem } from '../problem.ts';
import { nobodyPolls, waitForWorker, workerPolls } from './worker-polls.ts';

export type WatchPollers = {
  readonly temporal: Client;
  readonly say: (line: string) => void;
  readonly onNobody: (why: ClientProblem) => void;
};

/** A person waits no longer than this to hear that nobody works. */
const AT_FIRST_MS = 8_000;
const LATER_MS = 20_000;

export function watchPollers({ temporal, say, onNobody }: WatchPollers): { stop(): Promise<void> } {
  const stopped = new AbortController();
  const { signal } = stopped;
  const watch = async (): Promise<void> => {
    if (!(await waitForWorker({ temporal }, AT_FIRST_MS, signal)))
      return onNobody(new ClientProblem('no_worker', nobodyPolls()));
    for (let polled = true; await pause(LATER_MS, signal);) {
      const polls = await workerPolls({ temporal });
      if (polled && !polls) say(`${nobodyPolls()}; the session goes on when one does`);
      polled = polls;
    }
  };
  // A server that does not answer is the follower's to tell.
  const watching = watch().catch(() => undefined);
  return {
    stop: () => {
      stopped.abort();
      return watching;
    },
  };
}
