// Says which snapshot a session has of each of its folders. A capture names one (T1), and so does a
// rewind (T7): what it has brought back, and what lies in the folders when the conversation that
// describes them is left behind.
import { type Entry, rewoundIn } from '../log/entries.ts';
import { type Fold, foldEntries } from '../view/fold.ts';
import type { View } from '../view/view.ts';
import type { FilesEntry } from './files-entry.ts';

/** The hash of each folder's snapshot. */
export type SnapshotsAt = ReadonlyMap<string, string>;

/**
 * A folder, the snapshot that lies there, and the first of its snapshots that this entry tells of.
 */
type FolderKnowledge = { readonly root: string; readonly id: string; readonly first: string };

/** Returns what an entry tells of folders. */
export function knowledgeIn(entry: Entry): readonly FolderKnowledge[] {
  if (entry.kind === 'files') return entry.roots.map(({ root, id }) => ({ root, id, first: id }));
  const { known = [], files = [] } = rewoundIn(entry) ?? {};
  return [
    ...known.map(({ root, id, first = id }) => ({ root, id, first })),
    ...files.map(({ root, to, after = to }) => ({ root, id: after, first: to })),
  ];
}

/** Returns the first snapshot of each folder. */
export function firstSnapshots(entries: readonly Entry[]): SnapshotsAt {
  const found = new Map<string, string>();
  for (const { root, first } of entries.flatMap(knowledgeIn)) if (!found.has(root)) found.set(root, first);
  return found;
}

/** Returns the newest snapshot of each folder. */
export function lastSnapshots(entries: readonly Entry[]): SnapshotsAt {
  return new Map(entries.flatMap((entry) => knowledgeIn(entry).map(({ root, id }) => [root, id] as const)));
}

/** A transcript so far, and captures that are stored with what comes next. */
export type StoredFiles = { readonly view: View; readonly known: readonly FilesEntry[] };

/** The newest snapshot of each folder. */
const lastFold: Fold<Map<string, string>> = {
  begin: () => new Map(),
  copy: (last) => new Map(last),
  add(last, entry) {
    const moved = entry.kind === 'notice' && entry.notice.kind === 'forked' && entry.notice.moved;
    if (moved) {
      // Before a fork its folder was the origin's (T10).
      const id = last.get(moved.from);
      if (id === undefined) last.delete(moved.to);
      else last.set(moved.to, id);
    }
    for (const { root, id } of knowledgeIn(entry)) last.set(root, id);
  },
};

/** Returns the newest snapshot of a folder; null without one. */
export function lastSnapshotOf({ view, known }: StoredFiles, root: string): string | null {
  return foldEntries(lastFold, { view, added: known }).get(root) ?? null;
}
