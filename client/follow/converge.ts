// Keeps what a follower shows equal to the transcript. It compares the two after each step that
// stored something, and completely at a run's end.
import type { ChannelItem, WatchedEvent } from '../../store/live/events.ts';
import { StoreError } from '../../store/values/store.ts';
import type { Hash, SessionId } from '../../workflows/contract/ids.ts';
import { openLedger } from './ledger.ts';
import type { EntryMark, RunEntries, TranscriptReader } from '../sessions/transcript-reader.ts';

type Converger = {
  /** Returns the events to show for `item`: itself, or the transcript's version if that differs. */
  pass(item: ChannelItem): Promise<readonly WatchedEvent[]>;
  /**
   * Run `run` has ended: returns the events that make all that was shown of it, and of earlier
   * runs, equal to what `head` stores.
   */
  end(head: Hash, run: number): Promise<readonly WatchedEvent[]>;
};

/**
 * `from` is the first followed run. `onHead` gets each head that a step has stored, after `reader`
 * has looked at it.
 */
export function createConverger(
  reader: Pick<TranscriptReader, 'since'>,
  session: SessionId,
  from: number,
  onHead: (head: Hash) => void = () => undefined,
): Converger {
  let first = from;
  let ledger = openLedger(first);
  /** Where the next comparison begins; everything before it has been compared. */
  let next: EntryMark | undefined;

  const step = async (head: Hash): Promise<readonly WatchedEvent[]> => {
    const since = await readIfStored(reader.since(session, head, first, next));
    next = (since && lastReply(since)) ?? next;
    onHead(head);
    return since ? ledger.settle(since, false) : [];
  };
  const end: Converger['end'] = async (head, run) => {
    if (run < first) return [];
    const since = await readIfStored(reader.since(session, head, first));
    const events = since ? ledger.settle(cutAfterRun(since, run), true) : [];
    first = run + 1;
    ledger = openLedger(first);
    next = undefined;
    return events;
  };
  return {
    end,
    pass: async (item) => {
      if (item.type === 'stored') return step(item.head);
      if (item.type === 'run_end') return [...(await end(item.head, item.ended.run)), item];
      ledger.hear(item);
      return [item];
    },
  };
}

/** Returns null for an unreadable transcript. The reader of the run's end reports why. */
async function readIfStored(reading: Promise<RunEntries>): Promise<RunEntries | null> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof StoreError) return null;
    throw error;
  }
}

/** Finds the last reply, since its calls may still get outcomes. */
function lastReply({ run: from, first, entries }: RunEntries): EntryMark | null {
  const offset = entries.findLastIndex(({ kind }) => kind === 'reply');
  const entry = entries[offset];
  if (!entry) return null;
  const started = entries.slice(0, offset).findLast(({ kind }) => kind === 'run_started');
  return { run: started?.kind === 'run_started' ? started.run : from, position: first + offset, entry };
}

function cutAfterRun({ run: from, first, entries }: RunEntries, run: number): RunEntries {
  const end = entries.findIndex((entry) => entry.kind === 'run_ended' && entry.ended.run === run);
  return { run: from, first, entries: end < 0 ? entries : entries.slice(0, end + 1) };
}
