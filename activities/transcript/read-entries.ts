// What the read tool gets for perdure:entry/… (L8–L10): entries of the transcript up to the head that a call was made at.
import type { Hash, SessionId } from '../../workflows/contract/ids.ts';
import { bodyReader } from './bodies.ts';
import { entryRange } from './entry-name.ts';
import { readRange } from './read-chain.ts';
import { renderRange } from './render-entries.ts';
import type { Store } from './store.ts';

/** Null when `name` is no such name, or the transcript has no such entries. Throws StoreError. */
export async function readEntries(
  store: Store,
  session: SessionId,
  head: Hash | null,
  name: string,
): Promise<Uint8Array | null> {
  const range = entryRange(name);
  if (!range || head === null) return null;
  const segments = await readRange(store, session, head, range);
  const first = segments[0]?.segment.first ?? 0;
  const entries = segments
    .flatMap(({ segment }) => segment.entries)
    .slice(Math.max(0, range.from - first), range.to - first);
  const text = renderRange(entries, range.from, await bodyReader(store)(entries));
  return text === null ? null : Buffer.from(text);
}
