// A view of a transcript, from the cache or from the store.
import type { Hash, SessionId } from '../../../workflows/contract/ids.ts';
import { readChain } from '../log/read-chain.ts';
import type { Store } from '../store/store.ts';
import { emptyView, type View } from './shared-view.ts';

export { emptyView, lastReply, type View } from './shared-view.ts';

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

// Views of recent heads, per worker. It forgets the sessions used longest ago; forgetting costs a cold read and nothing else.

type ViewCache = {
  find(session: SessionId, head: Hash): View | undefined;
  keep(view: View): void;
};

/** Heads kept of one session: the newest, and those that another attempt may still ask for. They share their entries. */
const HEADS = 4;

/** `maxBytes`: size of the cached transcripts as stored; the one used last is kept whatever its size. */
export function createViewCache({ maxBytes = 64 * 1024 * 1024 }: { readonly maxBytes?: number } = {}): ViewCache {
  /** The session used last comes last, and so does a session's newest view. */
  const sessions = new Map<SessionId, readonly View[]>();

  const touch = (session: SessionId, views: readonly View[]): void => {
    sessions.delete(session);
    sessions.set(session, views);
  };
  const trim = (): void => {
    let total = [...sessions.values()].reduce((sum, views) => sum + size(views), 0);
    for (const [session, views] of sessions) {
      if (total <= maxBytes || sessions.size === 1) return;
      sessions.delete(session);
      total -= size(views);
    }
  };

  return {
    find: (session, head) => {
      const views = sessions.get(session);
      const found = views?.find((view) => view.head === head);
      if (views && found) touch(session, views);
      return found;
    },
    keep: (view) => {
      const others = (sessions.get(view.session) ?? []).filter((other) => other.head !== view.head);
      touch(view.session, [...others, view].slice(-HEADS));
      trim();
    },
  };
}

function size(views: readonly View[]): number {
  return Math.max(...views.map((view) => view.bytes));
}
