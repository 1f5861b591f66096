// Reading a session's transcript from the store, with no worker alive.
import type { Hash, SessionId } from '../workflows/contract/ids.ts';
import type { PendingApproval } from '../workflows/contract/session.ts';
import type { Entry } from '../activities/transcript/log/entries.ts';
import { resultOf } from '../activities/transcript/view/result.ts';
import { StoreError, type Store } from '../activities/transcript/store/store.ts';
import { createViewCache, loadView, type View } from '../activities/transcript/view/view.ts';
import { waitingApproval, type WaitingApproval } from './approval.ts';
import type { Mark, Since } from './follow-ledger.ts';
import { outputReader } from './run-output.ts';
import { runOutcome, type RunOutcome } from './run-outcome.ts';

export type TranscriptReader = {
  /** Oldest first. Throws StoreError. */
  entries(session: SessionId, head: Hash | null): Promise<readonly Entry[]>;
  /** From the start of run `run` on, or from `mark` on where that is still in it. Throws StoreError. */
  since(session: SessionId, head: Hash, run: number, mark?: Mark): Promise<Since>;
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
    since: async (session, head, run, mark) => {
      const read = await view(session, head);
      if (mark && read.at(mark.position) === mark.entry)
        return { run: mark.run, first: mark.position, entries: read.from(mark.position) };
      const first = startOf(read, run);
      return { run, first, entries: read.from(first) };
    },
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

/** The position after the end of the run before it. */
function startOf(view: View, run: number): number {
  for (let position = view.length - 1; position >= 0; position -= 1) {
    const entry = view.at(position);
    if (entry?.kind === 'run_ended' && entry.ended.run < run) return position + 1;
  }
  return 0;
}
