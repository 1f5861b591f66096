// Reads a session's transcript from the store; no worker has to be alive.
import type { Entry } from '../../store/log/entries.ts';
import { resultOf } from '../../store/view/result.ts';
import { type Store, StoreError } from '../../store/values/store.ts';
import { createViewCache, lastReply, loadRun, loadView, type View } from '../../store/view/view.ts';
import type { Hash, SessionId } from '../../workflows/contract/ids.ts';
import { outputReader, runOutcome, type RunOutcome } from './outcome.ts';
import type { PendingApproval } from '../../workflows/contract/session.ts';
import { waitingApproval, type WaitingApproval } from './waiting-approval.ts';

export type TranscriptReader = {
  /** Returns the entries, oldest first. Throws StoreError. */
  entries(session: SessionId, head: Hash | null): Promise<readonly Entry[]>;
  /**
   * Returns the entries from the start of run `run` on, or from `mark` on if it is still in the
   * transcript. Throws StoreError.
   */
  since(session: SessionId, head: Hash, run: number, mark?: EntryMark): Promise<RunEntries>;
  /** Returns what the model said before the call, in the same reply. Throws StoreError. */
  said(session: SessionId, pending: PendingApproval): Promise<string>;
  /** Throws StoreError, also when the run's end is not in the transcript. */
  outcome(session: SessionId, head: Hash | null, run: number): Promise<RunOutcome>;
  /** Adds the call's input. Throws StoreError only when the store cannot be used. */
  waiting(session: SessionId, pending: PendingApproval): Promise<WaitingApproval>;
};

const readers = new WeakMap<Store, TranscriptReader>();

/** Returns the store's one reader. All sessions and callers share its cache. */
export function transcriptReader(store: Store): TranscriptReader {
  const reader = readers.get(store) ?? openReader(store);
  readers.set(store, reader);
  return reader;
}

function openReader(store: Store): TranscriptReader {
  const cache = createViewCache();
  const output = outputReader(store);
  const view = (session: SessionId, head: Hash | null): Promise<View> => loadView(store, session, head, cache);
  const entries = async (session: SessionId, head: Hash | null): Promise<readonly Entry[]> =>
    (await view(session, head)).entries;
  return {
    entries,
    since: async (session, head, run, mark) => {
      const read = await loadRun(store, session, head, { run, cache });
      if (mark && read.at(mark.position) === mark.entry)
        return { run: mark.run, first: mark.position, entries: read.from(mark.position) };
      const first = startOf(read, run);
      return { run, first, entries: read.from(first) };
    },
    waiting: (session, pending) =>
      waitingApproval(store, () => view(pending.agent?.session ?? session, pending.head), session, pending),
    said: async (session, { agent, head, index }) => {
      const blocks =
        lastReply(await view(agent?.session ?? session, head))?.reply.message.content.slice(0, index) ?? [];
      return blocks.flatMap((block) => (block.type === 'text' ? [block.text.trim()] : [])).join('\n\n');
    },
    outcome: async (session, head, run) => {
      const read = head === null ? [] : (await loadRun(store, session, head, { run, cache })).entries;
      const result = resultOf({ entries: read }, run);
      if (result) return runOutcome(session, result, await output(read, result));
      const sentence = `the end of run ${run} of session ${session} is not in the store: is this the data folder its worker uses?`;
      throw new StoreError('missing', sentence);
    },
  };
}

/** Returns the position after the end of the run before it. */
function startOf(view: View, run: number): number {
  for (let position = view.length - 1; position >= 0; position -= 1) {
    const entry = view.at(position);
    if (entry?.kind === 'run_ended' && entry.ended.run < run) return position + 1;
  }
  return 0;
}

/**
 * Entries of a transcript from position `first` on, oldest first; the first belongs to run `run`.
 */
export type RunEntries = { readonly run: number; readonly first: number; readonly entries: readonly Entry[] };

/** Remembers an entry with its position and run. */
export type EntryMark = { readonly run: number; readonly position: number; readonly entry: Entry };

/** Tells whether entries begin with the remembered one: else all of the run was read again. */
export function beginsAt({ first, entries }: RunEntries, mark: EntryMark | undefined): boolean {
  return mark !== undefined && first === mark.position && entries[0] === mark.entry;
}
