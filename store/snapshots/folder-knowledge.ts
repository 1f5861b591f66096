// Says which snapshot a session knows of each of its folders. A capture tells of one (T1), and so
// does a rewind (T7): what it has brought back, and what lies in the folders when the conversation
// that tells of them is left behind.
import { type Entry, rewoundIn } from '../log/entries.ts';
import type { View } from '../view/view.ts';
import type { FilesEntry } from './files-entry.ts';

/** The hash of each folder's snapshot. */
export type SnapshotsAt = ReadonlyMap<string, string>;

/** A folder, the snapshot that lies there, and the first of its snapshots that this entry tells of. */
type Told = { readonly root: string; readonly id: string; readonly first: string };

/** Returns what an entry tells of folders. */
export function knowledgeIn(entry: Entry): readonly Told[] {
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

/** Returns the newest snapshot of a folder, without a copy of the transcript; null without one. */
export function lastSnapshotOf({ view, known }: StoredFiles, root: string): string | null {
  let name = root;
  const idIn = (entry: Entry): string | undefined => knowledgeIn(entry).findLast((each) => each.root === name)?.id;
  const found = known.findLast((files) => idIn(files) !== undefined);
  if (found) return idIn(found) ?? null;
  for (let position = view.length - 1; position >= 0; position -= 1) {
    const entry = view.at(position);
    if (!entry) continue;
    const moved = entry.kind === 'notice' && entry.notice.kind === 'forked' && entry.notice.moved;
    // Before a fork its folder was the origin's (T10).
    if (moved && moved.to === name) name = moved.from;
    const id = idIn(entry);
    if (id !== undefined) return id;
  }
  return null;
}
