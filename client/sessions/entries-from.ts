// Reads a transcript from a position on, across compactions, a piece at a time (Q10).
import type { Entry } from '../../store/log/entries.ts';
import { readRange, readSegment } from '../../store/log/read-chain.ts';
import type { Store } from '../../store/values/store.ts';
import type { Hash, SessionId } from '../../workflows/contract/ids.ts';

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
