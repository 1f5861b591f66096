// A view of a transcript, from the cache or from the store.
import type { Hash, SessionId } from '../../workflows/contract/ids.ts';
import { readChain } from './read-chain.ts';
import type { Store } from './store.ts';
import { emptyView, type View } from './shared-view.ts';
import type { ViewCache } from './view-cache.ts';

export { emptyView, lastReply, type View } from './shared-view.ts';
export { createViewCache, type ViewCache } from './view-cache.ts';

/** Throws StoreError when a stored segment is missing, damaged or not in its place. */
export async function loadView(store: Store, session: SessionId, head: Hash | null, cache?: ViewCache): Promise<View> {
  if (head === null) return emptyView(session);
  const cached = cache?.find(session, head);
  if (cached) return cached;
  const chain = await readChain(store, session, head, (hash) => cache?.find(session, hash) !== undefined);
  const parent = chain[0]?.segment.parent;
  let view = (parent && cache?.find(session, parent)) || emptyView(session);
  for (const { hash, bytes, segment } of chain) view = view.grow({ hash, bytes, entries: segment.entries });
  cache?.keep(view);
  return view;
}
