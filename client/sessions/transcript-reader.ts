// Reads a session's transcript from the store; no worker has to be alive.
// Reads what was said last in a session: the last prompt, and the last text of the model behind it.
// Reads a transcript from a position on, across compactions, a piece at a time (Q10).
import type { Client } from '@temporalio/client';
import { createBodyReader } from '../../store/log/bodies.ts';
import type { Entry } from '../../store/log/entries.ts';
import { readRange, readSegment } from '../../store/log/read-chain.ts';
import { type Store, StoreError } from '../../store/values/store.ts';
import { resultOf } from '../../store/view/result.ts';
import { createViewCache, lastReply, loadRun, loadView, loadWorkingView, type View } from '../../store/view/view.ts';
import type { Hash, SessionId } from '../../workflows/contract/ids.ts';
import type { PendingApproval } from '../../workflows/contract/session.ts';
import { headOf } from './newest-head.ts';
import { outputReader, runOutcome, type RunOutcome } from './outcome.ts';
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

export type LastWords = {
  /** The text of the last prompt; null when it cannot be read. */
  readonly prompt: string | null;
  /** Empty before the first reply with a text. */
  readonly reply: string;
};

type Ports = { readonly temporal: { readonly client: Client }; readonly store: Store };

/** Throws ClientProblem, and StoreError. */
export async function readLastWords({ temporal, store }: Ports, session: SessionId): Promise<LastWords> {
  const view = await loadWorkingView(store, session, await headOf(temporal.client, session));
  const entries = view.from(view.begin);
  const prompt = entries.findLast((entry) => entry.kind === 'user');
  if (prompt?.kind !== 'user') return { prompt: null, reply: lastText(entries) };
  const { body } = prompt;
  const bodies = await createBodyReader(store)([prompt]);
  const text = body.kind === 'text' ? body.text : (bodies.get(body.hash) ?? null);
  return { prompt: text, reply: lastText(entries) };
}

function lastText(entries: readonly Entry[]): string {
  for (const entry of entries.toReversed()) {
    if (entry.kind !== 'reply') continue;
    const text = entry.message.content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');
    if (text.trim() !== '') return text.trim();
  }
  return '';
}

/** Number of positions read at once. */
const PIECE = 500;

/**
 * Yields the entries from position `from` on, oldest first, with only one piece of the transcript
 * in memory. Throws StoreError.
 */
export async function* entriesFrom(
  store: Store,
  session: SessionId,
  head: Hash | null,
  from: number,
): AsyncGenerator<{ readonly position: number; readonly entry: Entry }, void> {
  if (head === null) return;
  const { segment: last } = await readSegment(store, head, { session, entry: null });
  const end = last.first + last.entries.length;
  for (let begin = from; begin < end; begin += PIECE) {
    const to = Math.min(begin + PIECE, end);
    for (const { segment } of await readRange(store, session, head, { from: begin, to }))
      for (const [index, entry] of segment.entries.entries()) {
        const position = segment.first + index;
        if (position >= begin && position < to) yield { position, entry };
      }
  }
}
