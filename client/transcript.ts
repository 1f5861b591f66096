// Reading a session's transcript from the store, with no worker alive.
import type { Hash, SessionId } from '../workflows/contract/ids.ts';
import type { Entry } from '../activities/transcript/entries.ts';
import { resultOf } from '../activities/transcript/result-of.ts';
import { StoreError, type Store } from '../activities/transcript/store.ts';
import { createViewCache, loadView } from '../activities/transcript/view.ts';
import { runOutcome, type RunOutcome } from './run-outcome.ts';

export type TranscriptReader = {
  /** Oldest first. Throws StoreError. */
  entries(session: SessionId, head: Hash | null): Promise<readonly Entry[]>;
  /** Throws StoreError, also when the run's end is not in the transcript. */
  outcome(session: SessionId, head: Hash | null, run: number): Promise<RunOutcome>;
};

/** One cache for all sessions a client looks at: what it saw before is not read again. */
export function transcriptReader(store: Store): TranscriptReader {
  const cache = createViewCache();
  const entries = async (session: SessionId, head: Hash | null): Promise<readonly Entry[]> =>
    (await loadView(store, session, head, cache)).entries;
  return {
    entries,
    outcome: async (session, head, run) => {
      const result = resultOf({ entries: await entries(session, head) }, run);
      if (result) return runOutcome(session, result);
      const sentence = `the end of run ${run} of session ${session} is not in the store: is this the data folder its worker uses?`;
      throw new StoreError('missing', sentence);
    },
  };
}
