// Reads everything that a session has ever said: the entries up to a head, and those that rewinds
// have left behind (T6).
import type { Hash, SessionId } from '../../workflows/contract/ids.ts';
import { type Entry, headLeftBy } from './entries.ts';
import { readChain, readSegment } from './read-chain.ts';
import type { Store } from '../values/store.ts';

/**
 * Returns the entries up to `head`, and after them what was left behind, also of sessions that this
 * one is a fork of. Throws StoreError.
 */
export async function readWithLeftBehind(store: Store, session: SessionId, head: Hash): Promise<readonly Entry[]> {
  const known = new Set<Hash>();
  const found: Entry[] = [];
  const heads = [head];
  for (let at = heads.shift(); at !== undefined; at = heads.shift()) {
    if (known.has(at)) continue;
    const { segment: newest } = await readSegment(store, at, { session, entry: null });
    const isKnown = (hash: Hash): boolean => known.has(hash);
    for (const { hash, segment } of await readChain(store, newest.session, at, { isKnown })) {
      if (known.has(hash)) continue;
      known.add(hash);
      found.push(...segment.entries);
      heads.push(...segment.entries.flatMap((entry) => headLeftBy(entry) ?? []));
    }
  }
  return found;
}
