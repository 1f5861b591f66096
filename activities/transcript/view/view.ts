// A view of a transcript, from the cache or from the store: whole, or what a worker needs of it.
import type { Hash, SessionId } from '../../../workflows/contract/ids.ts';
import { totalTokens } from '../../../workflows/contract/loop.ts';
import type { Behind, BoundaryEntry } from '../log/entries.ts';
import { readChain, type StoredSegment } from '../log/read-chain.ts';
import type { Store } from '../store/store.ts';
import { emptyView, partialView, UNREAD, type View } from './shared-view.ts';

export { emptyView, lastReply, type View } from './shared-view.ts';

/** All of it. Throws StoreError when a stored segment is missing, damaged or not in its place. */
export async function loadView(store: Store, session: SessionId, head: Hash | null, cache?: ViewCache): Promise<View> {
  if (head === null) return emptyView(session);
  const cached = cache?.find(session, head);
  if (cached) return cached;
  const chain = await readChain(store, session, head, (hash) => cache?.find(session, hash) !== undefined);
  const view = grown(cachedParent(session, chain, cache) ?? emptyView(session), chain);
  cache?.keep(view);
  return view;
}

/**
 * Read back to a boundary that keeps what still counts of what was before; all of it where none does. Give it a cache of its own: its
 * views may be partial. Throws as `loadView` does.
 */
export async function loadWorkingView(
  store: Store,
  session: SessionId,
  head: Hash | null,
  cache?: ViewCache,
): Promise<View> {
  if (head === null) return emptyView(session);
  const cached = cache?.find(session, head);
  if (cached) return cached;
  const start = findStart();
  const known = (hash: Hash): boolean => cache?.find(session, hash) !== undefined;
  const chain = await readChain(store, session, head, known, start.isRead);
  const base = cachedParent(session, chain, cache) ?? start.view(chain) ?? emptyView(session);
  const view = reachesBehind(base, chain) ? await loadView(store, session, head) : grown(base, chain);
  cache?.keep(view);
  return view;
}

function cachedParent(session: SessionId, chain: readonly StoredSegment[], cache?: ViewCache): View | undefined {
  const parent = chain[0]?.segment.parent;
  return parent ? cache?.find(session, parent) : undefined;
}

function grown(base: View, chain: readonly StoredSegment[]): View {
  let view = base;
  for (const { hash, bytes, segment } of chain) view = view.grow({ hash, bytes, entries: segment.entries });
  return view;
}

/**
 * The newest boundary that a counted reply came after: a compaction measures by the last one, and looks at what the model was shown
 * when it was made.
 */
function findStart(): {
  isRead(chunk: readonly StoredSegment[]): boolean;
  view(chain: readonly StoredSegment[]): View | null;
} {
  let counted = false;
  let behind: Behind | undefined;
  return {
    isRead(chunk) {
      for (const { segment } of chunk.toReversed()) {
        if (counted) behind ??= segment.behind;
        counted ||= segment.entries.some((entry) => entry.kind === 'reply' && totalTokens(entry.spend.usage) > 0);
      }
      const first = chunk[0]?.segment.first ?? 0;
      return behind !== undefined && first <= behind.from;
    },
    view(chain) {
      const oldest = chain[0]?.segment;
      return behind && oldest && oldest.n > 0 ? partialView(oldest, behind) : null;
    },
  };
}

/** Such a boundary was never written after a partial view: only a whole one says what it shows. */
function reachesBehind(view: View, chain: readonly StoredSegment[]): boolean {
  const isUnread = (position: number): boolean => {
    const entry = view.at(position);
    const isWordless = entry?.kind === 'user' && entry.body.kind === 'text' && entry.body.text === '';
    return position < view.begin && (entry === UNREAD || isWordless);
  };
  const reaches = ({ from, prompts }: BoundaryEntry): boolean => !(from >= view.begin) || prompts.some(isUnread);
  return (
    view.begin > 0 &&
    chain.some(({ segment }) => segment.entries.some((entry) => entry.kind === 'boundary' && reaches(entry)))
  );
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
