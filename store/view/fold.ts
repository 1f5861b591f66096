// Folds the entries of a transcript, one after the other, and keeps the result from view to view: a
// turn costs only what it adds (L4).
import type { Entry } from '../log/entries.ts';
import type { View } from './shared-view.ts';

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
