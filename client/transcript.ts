// Reading a session's transcript from the store, with no worker alive.
import type { Hash, SessionId } from '../workflows/contract/ids.ts';
import type { PendingApproval } from '../workflows/contract/session.ts';
import type { Entry } from '../activities/transcript/entries.ts';
import { resultOf } from '../activities/transcript/result-of.ts';
import { StoreError, type Store } from '../activities/transcript/store.ts';
import { createViewCache, loadView, type View } from '../activities/transcript/view.ts';
import { waitingApproval, type WaitingApproval } from './approval.ts';
import { outputReader } from './run-output.ts';
import { runOutcome, type RunOutcome } from './run-outcome.ts';

export type TranscriptReader = {
  /** Oldest first. Throws StoreError. */
  entries(session: SessionId, head: Hash | null): Promise<readonly Entry[]>;
  /** Throws StoreError, also when the run's end is not in the transcript. */
  outcome(session: SessionId, head: Hash | null, run: number): Promise<RunOutcome>;
  /** With its input. Throws StoreError only when the store cannot be used. */
  waiting(session: SessionId, pending: PendingApproval): Promise<WaitingApproval>;
};

/** One cache for all sessions a client looks at: what it saw before is not read again. */
export function transcriptReader(store: Store): TranscriptReader {
  const cache = createViewCache();
  const output = outputReader(store);
  const view = (session: SessionId, head: Hash | null): Promise<View> => loadView(store, session, head, cache);
  const entries = async (session: SessionId, head: Hash | null): Promise<readonly Entry[]> =>
    (await view(session, head)).entries;
  return {
    entries,
    waiting: (session, pending) => waitingApproval(store, () => view(session, pending.head), session, pending),
    outcome: async (session, head, run) => {
      const read = await entries(session, head);
      const result = resultOf({ entries: read }, run);
      if (result) return runOutcome(session, result, await output(read, result));
      const sentence = `the end of run ${run} of session ${session} is not in the store: is this the data folder its worker uses?`;
      throw new StoreError('missing', sentence);
    },
  };
}
