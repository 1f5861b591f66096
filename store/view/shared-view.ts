// A transcript up to one head, immutable for its holder. Successive views of a session share one
// growing array, so that an append costs what is appended and not what exists already (L4: the
// 5,000th turn costs what the 10th does).
import type { Hash, SessionId } from '../../workflows/contract/ids.ts';
import { type Behind, type Entry, PAGE, type ReplyEntry } from '../log/entries.ts';
import type { StoredSegment } from '../log/read-chain.ts';

/** Stands for an entry that was not read; as a collapse of none it changes nothing. */
export const UNREAD: Entry = { kind: 'collapse_committed', count: 0 };

export type View = {
  readonly session: SessionId;
  readonly head: Hash | null;
  /** The numbers of segments, and of entries, up to the head. */
  readonly segments: number;
  readonly length: number;
  /** Before this position only the entries that still count were read. 0 for a whole view. */
  readonly begin: number;
  /** The stored size of the segments that were read, in bytes. */
  readonly bytes: number;
  /** The hashes of the last 1 to 64 segments, since the last page, oldest first. */
  readonly recent: readonly Hash[];
  /**
   * All entries, oldest first, `UNREAD` for those that were not read. Each use makes a copy: take
   * it once.
   */
  readonly entries: readonly Entry[];
  /**
   * Is the same for views that grew from one another: what is known of their entries goes by it.
   */
  readonly lineage: object;
  at(position: number): Entry | undefined;
  /** Returns a copy of the entries from `position` on. */
  from(position: number): readonly Entry[];
  grow(segment: AddedSegment): View;
};

type AddedSegment = { readonly hash: Hash; readonly bytes: number; readonly entries: readonly Entry[] };

type ViewFacts = Pick<View, 'session' | 'head' | 'segments' | 'length' | 'begin' | 'bytes' | 'recent'>;

export function emptyView(session: SessionId): View {
  return viewOf({ session, head: null, segments: 0, length: 0, begin: 0, bytes: 0, recent: [] }, []);
}

/**
 * Builds the view of a boundary that keeps `behind`: before its `from` only what it keeps counts,
 * though `chain`, which ends with the head, begins with some of those entries. They would count
 * twice: the kept entries say what they have changed.
 */
export function viewBehind(chain: readonly StoredSegment[], behind: Behind): View {
  const [oldest] = chain;
  if (!oldest || oldest.segment.first > behind.from)
    throw new RangeError('a partial view needs all that is not behind it');
  const { session, parent, n, first } = oldest.segment;
  const shared = Array.from({ length: behind.from }, () => UNREAD);
  for (const [position, entry] of behind.entries) shared[position] = entry;
  const read = chain.flatMap(({ segment }) => segment.entries);
  for (const entry of read.slice(behind.from - first)) shared.push(entry);
  let facts: ViewFacts = {
    session,
    head: parent,
    segments: n,
    length: first,
    begin: behind.from,
    bytes: 0,
    recent: [],
  };
  for (const segment of chain) facts = growFacts(facts, toAdded(segment));
  return viewOf(facts, shared);
}

/** `shared` may hold more than `facts.length` entries: those of views that grew from this one. */
function viewOf(facts: ViewFacts, shared: Entry[]): View {
  const from = (position: number): readonly Entry[] => shared.slice(position, facts.length);
  return {
    ...facts,
    lineage: shared,
    get entries() {
      return from(0);
    },
    at: (position) => (position < facts.length ? shared[position] : undefined),
    from,
    grow: (segment) => {
      // Only the first to grow from this view finds its end free; a second one (a fork, another
      // attempt) gets its own array.
      const own = shared.length === facts.length ? shared : shared.slice(0, facts.length);
      for (const entry of segment.entries) own.push(entry);
      return viewOf(growFacts(facts, segment), own);
    },
  };
}

function toAdded({ hash, bytes, segment: { entries } }: StoredSegment): AddedSegment {
  return { hash, bytes, entries };
}

function growFacts(facts: ViewFacts, { hash, bytes, entries }: AddedSegment): ViewFacts {
  return {
    session: facts.session,
    head: hash,
    segments: facts.segments + 1,
    length: facts.length + entries.length,
    begin: facts.begin,
    bytes: facts.bytes + bytes,
    recent: facts.segments % PAGE === 0 ? [hash] : [...facts.recent, hash],
  };
}

export function growAll(view: View, chain: readonly StoredSegment[]): View {
  return chain.reduce((grownView, segment) => grownView.grow(toAdded(segment)), view);
}

/** Returns the last reply and the position of its entry, or null. */
export function lastReply(view: View): { readonly reply: ReplyEntry; readonly position: number } | null {
  for (let position = view.length - 1; position >= 0; position -= 1) {
    const entry = view.at(position);
    if (entry?.kind === 'reply') return { reply: entry, position };
  }
  return null;
}

// Folds the entries of a transcript, one after the other, and keeps the result from view to view: a
// turn costs only what it adds (L4).
/** Looks up an entry before the one that is taken. */
export type EntryAt = (position: number) => Entry | undefined;

export type Fold<State> = {
  begin(): State;
  /** Returns a state of its own, which `add` may change without changing the other. */
  copy(state: State): State;
  add(state: State, entry: Entry, position: number, at: EntryAt): void;
};

/** A view, and entries that come after it and are not stored yet. */
export type ExtendedView = { readonly view: View; readonly added: readonly Entry[] };

/** All entries of a transcript; of a view, what came since it was last asked for is taken alone. */
export type Entries = readonly Entry[] | ExtendedView;

type Known = { readonly length: number; readonly state: unknown };

/** By lineage and fold: the state of the longest view that was asked for. */
const known = new WeakMap<object, Map<object, Known>>();

/** Returns the state after all entries; don't change it. */
export function foldEntries<State>(fold: Fold<State>, entries: Entries): State {
  if (!isExtended(entries)) {
    const state = fold.begin();
    addAll(fold, state, { entries, from: 0, at: entryAt(entries) });
    return state;
  }
  const { view, added } = entries;
  const state = foldStored(fold, view);
  if (added.length === 0) return state;
  const own = fold.copy(state);
  addAll(fold, own, { entries: added, from: view.length, at: entryAt(entries) });
  return own;
}

export function isExtended(entries: Entries): entries is ExtendedView {
  return 'view' in entries;
}

export function entryAt(entries: Entries): EntryAt {
  if (!isExtended(entries)) return (position) => entries[position];
  const { view, added } = entries;
  return (position) => (position < view.length ? view.at(position) : added[position - view.length]);
}

function foldStored<State>(fold: Fold<State>, view: View): State {
  const states = known.get(view.lineage) ?? new Map<object, Known>();
  known.set(view.lineage, states);
  const found = states.get(fold);
  if (found?.length === view.length) return found.state as State;
  const isBefore = found !== undefined && found.length < view.length;
  const from = isBefore ? found.length : 0;
  const state = isBefore ? fold.copy(found.state as State) : fold.begin();
  addAll(fold, state, { entries: view.from(from), from, at: view.at });
  if (found === undefined || isBefore) states.set(fold, { length: view.length, state });
  return state;
}

type Adding = { readonly entries: readonly Entry[]; readonly from: number; readonly at: EntryAt };

function addAll<State>(fold: Fold<State>, state: State, { entries, from, at }: Adding): void {
  for (const [index, entry] of entries.entries()) fold.add(state, entry, from + index, at);
}
