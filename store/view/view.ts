// Loads a view of a transcript from the cache or from the store: whole, or the part that a worker
// needs.
// Keeps views of recent heads, per worker. It forgets the sessions used longest ago; forgetting
// costs a cold read and nothing else.
import type { Hash, SessionId } from '../../workflows/contract/ids.ts';
import { totalTokens } from '../../workflows/contract/loop.ts';
import type { Behind, BoundaryEntry, Entry } from '../log/entries.ts';
import { readChain, type StoredSegment } from '../log/read-chain.ts';
import type { Store } from '../values/store.ts';
import { emptyView, growAll, UNREAD, type View, viewBehind } from './shared-view.ts';

export { emptyView, lastReply, type View } from './shared-view.ts';

/**
 * Loads the whole transcript. Throws StoreError when a stored segment is missing, damaged or not in
 * its place.
 */
export async function loadView(store: Store, session: SessionId, head: Hash | null, cache?: ViewCache): Promise<View> {
  if (head === null) return emptyView(session);
  const isWhole = (view: View): boolean => view.begin === 0;
  const cached = cache?.find(session, head);
  if (cached && isWhole(cached)) return cached;
  const base = findBase(session, cache, isWhole);
  const chain = await readChain(store, session, head, { isKnown: base.isKnown });
  const view = growAll(base.view() ?? emptyView(session), chain);
  cache?.keep(view);
  return view;
}

/**
 * Reads back to the end of the run before `run`, which is the first entry then. Throws as
 * `loadView` does.
 */
export async function loadRun(
  store: Store,
  session: SessionId,
  head: Hash,
  { run, cache }: { readonly run: number; readonly cache?: ViewCache | undefined },
): Promise<View> {
  const isBefore = (entry: Entry): boolean => entry.kind === 'run_ended' && entry.ended.run < run;
  const reaches = (view: View): boolean => view.begin === 0 || view.from(view.begin).some(isBefore);
  const cached = cache?.find(session, head);
  if (cached && reaches(cached)) return cached;
  const base = findBase(session, cache, reaches);
  const isRead = (chunk: readonly StoredSegment[]): boolean =>
    chunk.some(({ segment }) => segment.entries.some(isBefore));
  const chain = await readChain(store, session, head, { isKnown: base.isKnown, isEnough: isRead });
  const from = base.view();
  const view = from ? growAll(from, chain) : viewSince(session, chain, isBefore);
  cache?.keep(view);
  return view;
}

/**
 * Returns the view from the last entry for which `isFirst` holds, or the whole when `chain` is
 * whole or has no such entry.
 */
function viewSince(session: SessionId, chain: readonly StoredSegment[], isFirst: (entry: Entry) => boolean): View {
  const { n = 0, first = 0 } = chain[0]?.segment ?? {};
  const at = chain.flatMap(({ segment }) => segment.entries).findLastIndex(isFirst);
  if (n === 0 || at < 0) return growAll(emptyView(session), chain);
  return viewBehind(chain, { from: first + at, entries: [] });
}

/**
 * Reads back to a boundary that keeps the earlier entries that still count, or all of it where none
 * does. Give it a cache of its own: the partial views of others do not do for a worker. Throws as
 * `loadView` does.
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
  const base = findBase(session, cache, () => true);
  const start = createStartFinder();
  const chain = await readChain(store, session, head, { isKnown: base.isKnown, isEnough: start.isRead });
  const from = base.view();
  const view = from ? growAll(from, chain) : (start.view(chain) ?? growAll(emptyView(session), chain));
  const added = from ? chain : start.after(chain);
  const enough = reachesBehind(view, added) ? await loadView(store, session, head) : view;
  cache?.keep(enough);
  return enough;
}

/**
 * Finds the cached view to grow from, and holds it, because the cache may forget it while segments
 * are read.
 */
function findBase(
  session: SessionId,
  cache: ViewCache | undefined,
  fits: (view: View) => boolean,
): { isKnown(parent: Hash): boolean; view(): View | undefined } {
  let view: View | undefined;
  return {
    isKnown(parent) {
      const found = cache?.find(session, parent);
      view = found && fits(found) ? found : undefined;
      return view !== undefined;
    },
    view: () => view,
  };
}

/**
 * Finds the newest boundary that a counted reply came after: a compaction measures by the last one,
 * and looks at what the model was shown when it was made.
 */
function createStartFinder(): {
  isRead(chunk: readonly StoredSegment[]): boolean;
  view(chain: readonly StoredSegment[]): View | null;
  /** Returns the segments after that boundary's. */
  after(chain: readonly StoredSegment[]): readonly StoredSegment[];
} {
  let counted = false;
  let start: { readonly n: number; readonly behind: Behind } | undefined;
  return {
    isRead(chunk) {
      for (const { segment } of chunk.toReversed()) {
        const { n, behind, entries } = segment;
        if (counted && behind) start ??= { n, behind };
        counted ||= entries.some((entry) => entry.kind === 'reply' && totalTokens(entry.spend.usage) > 0);
      }
      const first = chunk[0]?.segment.first ?? 0;
      return start !== undefined && first <= start.behind.from;
    },
    view(chain) {
      const isPartial = (chain[0]?.segment.n ?? 0) > 0;
      return start && isPartial ? viewBehind(chain, start.behind) : null;
    },
    after: (chain) => chain.filter(({ segment }) => !start || segment.n > start.n),
  };
}

/**
 * Tells whether a boundary reaches further back than the view. Such a boundary was never written
 * after a partial view, and only a whole view says what it shows.
 */
function reachesBehind(view: View, added: readonly StoredSegment[]): boolean {
  const isUnread = (position: number): boolean => {
    const entry = view.at(position);
    const isWordless =
      entry?.kind === 'user' && entry.body.kind === 'text' && entry.body.text === '' && !entry.body.media;
    return position < view.begin && (entry === UNREAD || isWordless);
  };
  const reaches = ({ from, prompts }: BoundaryEntry): boolean => !(from >= view.begin) || prompts.some(isUnread);
  return (
    view.begin > 0 &&
    added.some(({ segment }) => segment.entries.some((entry) => entry.kind === 'boundary' && reaches(entry)))
  );
}

export type ViewCache = {
  find(session: SessionId, head: Hash): View | undefined;
  keep(view: View): void;
};

/**
 * The heads that are kept of one session: the newest, and those that another attempt may still ask
 * for. They share their entries.
 */
const HEADS = 4;

/**
 * `maxBytes` bounds the stored size of the cached transcripts; the one used last is kept whatever
 * its size.
 */
export function createViewCache({ maxBytes = 64 * 1024 * 1024 }: { readonly maxBytes?: number } = {}): ViewCache {
  /** The session used last comes last, and so does a session's newest view. */
  const sessions = new Map<SessionId, readonly View[]>();

  const touch = (session: SessionId, views: readonly View[]): void => {
    sessions.delete(session);
    sessions.set(session, views);
  };
  const trim = (): void => {
    let total = [...sessions.values()].reduce((sum, views) => sum + bytesOf(views), 0);
    for (const [session, views] of sessions) {
      if (total <= maxBytes || sessions.size === 1) return;
      sessions.delete(session);
      total -= bytesOf(views);
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

function bytesOf(views: readonly View[]): number {
  return Math.max(...views.map((view) => view.bytes));
}
