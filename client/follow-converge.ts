// Keeps what a follower shows equal to the transcript: compared after each step that stored something, and whole at a run's end.
import type { Told, Watched } from '../activities/live/events.ts';
import { StoreError } from '../activities/transcript/store/store.ts';
import type { Hash, SessionId } from '../workflows/contract/ids.ts';
import { ledger, type Mark, type Since } from './follow-ledger.ts';
import type { TranscriptReader } from './transcript.ts';

export type Converging = {
  /** What to show for it: itself, or what the transcript has otherwise. */
  pass(told: Told): Promise<readonly Watched[]>;
  /** Run `run` has ended: what makes all that was shown of it, and of those before, the same as what is stored under `head`. */
  end(head: Hash, run: number): Promise<readonly Watched[]>;
};

/** `from`: the first run that is followed. */
export function converging(reader: Pick<TranscriptReader, 'since'>, session: SessionId, from: number): Converging {
  let first = from;
  let shown = ledger(first);
  /** Where the next comparison begins: what is before it has been compared. */
  let next: Mark | undefined;

  const step = async (head: Hash): Promise<readonly Watched[]> => {
    const since = await readable(reader.since(session, head, first, next));
    next = (since && lastReply(since)) ?? next;
    return since ? shown.settle(since, false) : [];
  };
  const end: Converging['end'] = async (head, run) => {
    if (run < first) return [];
    const since = await readable(reader.since(session, head, first));
    const told = since ? shown.settle(upTo(since, run), true) : [];
    first = run + 1;
    shown = ledger(first);
    next = undefined;
    return told;
  };
  return {
    end,
    pass: async (told) => {
      if (told.type === 'stored') return step(told.head);
      if (told.type === 'run_end') return [...(await end(told.head, told.ended.run)), told];
      shown.hear(told);
      return [told];
    },
  };
}

/** Null for what cannot be read: whoever reads the run's end says why. */
async function readable(reading: Promise<Since>): Promise<Since | null> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof StoreError) return null;
    throw error;
  }
}

/** The last reply: its calls may still get outcomes. */
function lastReply({ run: from, first, entries }: Since): Mark | null {
  const offset = entries.findLastIndex(({ kind }) => kind === 'reply');
  const entry = entries[offset];
  if (!entry) return null;
  const started = entries.slice(0, offset).findLast(({ kind }) => kind === 'run_started');
  return { run: started?.kind === 'run_started' ? started.run : from, position: first + offset, entry };
}

function upTo({ run: from, first, entries }: Since, run: number): Since {
  const end = entries.findIndex((entry) => entry.kind === 'run_ended' && entry.ended.run === run);
  return { run: from, first, entries: end < 0 ? entries : entries.slice(0, end + 1) };
}
