// What the read tool gets for perdure:entry/… (L8–L10): entries of the transcript up to the head that a call was made at.
import type { Hash, SessionId } from '../../workflows/contract/ids.ts';
import { bodyReader } from './bodies.ts';
import { entryRange } from './entry-name.ts';
import { renderRange } from './render-entries.ts';
import type { Store } from './store.ts';
import { loadView } from './view.ts';

/** Null when `name` is no such name, or the transcript has no such entries. Throws StoreError. */
export async function readEntries(
  store: Store,
  session: SessionId,
  head: Hash | null,
  name: string,
): Promise<Uint8Array | null> {
  const range = entryRange(name);
  if (!range || head === null) return null;
  const view = await loadView(store, session, head);
  const { entries } = view;
  const text = renderRange(entries, range, await bodyReader(store)(entries.slice(range.from, range.to)));
  return text === null ? null : Buffer.from(text);
}
