// Finds the snapshots with the files of a session as they were at a point of its transcript (T11).
// A capture follows the reply of a step whose effects come later, so it has what the effects before
// that reply have left.
import { type Entry, rewoundIn } from '../log/entries.ts';
import { type Fold, foldEntries } from '../view/shared-view.ts';
import type { View } from '../view/view.ts';
import type { FilesEntry } from './files-entry.ts';

/** `entries` begin at position `first` of the transcript. */
export type TranscriptStretch = { readonly entries: readonly Entry[]; readonly first: number };

/** A place in a transcript as people name it: an entry, or the reply of an iteration. */
type Point = number | { readonly run: number; readonly iteration: number };

/** Returns null for a text that names no point: `412`, `e412` and `2.17` do. */
export function parsePoint(text: string): Point | null {
  const entry = /^e?(\d{1,9})$/.exec(text)?.[1];
  if (entry !== undefined) return Number(entry);
  const [, run, iteration] = /^(\d{1,9})\.(\d{1,9})$/.exec(text) ?? [];
  return run === undefined || iteration === undefined ? null : { run: Number(run), iteration: Number(iteration) };
}

/** Returns the position of a point; null when the transcript does not have it. */
export function findPosition({ entries, first }: TranscriptStretch, point: Point): number | null {
  if (typeof point === 'number') return point >= first && point < first + entries.length ? point : null;
  let run = 1;
  for (const [index, entry] of entries.entries()) {
    if (entry.kind === 'run_started') run = entry.run;
    if (entry.kind === 'reply' && run === point.run && entry.iteration === point.iteration) return first + index;
  }
  return null;
}

/** Returns the snapshots of the files as they were at a position. */
export function snapshotsAt(stretch: TranscriptStretch, position: number): SnapshotsAt {
  return lastSnapshots(entriesUpTo(stretch, position));
}

/** Returns the entries that tell of these snapshots. */
export function entriesUpTo({ entries, first }: TranscriptStretch, position: number): readonly Entry[] {
  const index = position - first;
  return entries.slice(0, (findCapture(entries, index) ?? index) + 1);
}

/**
 * Finds the capture that was made for a point: at it, or after it without effects of another step
 * in between. Returns null when nothing had changed there.
 */
function findCapture(entries: readonly Entry[], from: number): number | null {
  let passed: 'reply' | 'end' | null = null;
  for (let index = from; index < entries.length; index += 1) {
    const entry = entries[index] as Entry;
    const { kind } = entry;
    if (kind === 'files') return index;
    // What a rewind has brought back is of another point.
    if (rewoundIn(entry)) return null;
    // Outcomes of calls that started while the reply streamed lie between it and its capture; a
    // fork has stored the capture of what its last calls left right after them.
    if (passed === 'reply' && (kind !== 'outcomes' || isAfterCalls(entry))) return null;
    if (passed === 'end' && kind === 'run_started') return null;
    if (kind === 'reply') passed = 'reply';
    if (kind === 'run_ended') passed = 'end';
  }
  return null;
}

/** Calls that started while the reply streamed have no effects, and no key. */
export function isAfterCalls(entry: Entry | undefined): boolean {
  return entry?.kind === 'outcomes' && entry.outcomes.some(({ log }) => log.key !== null);
}

/** Returns the index of the last entry before `at` that the test passes; -1 without any. */
export function lastIndexBefore(entries: readonly Entry[], at: number, test: (entry: Entry) => boolean): number {
  let index = at - 1;
  while (index >= 0 && !test(entries[index] as Entry)) index -= 1;
  return index;
}

/** A call as the model wrote it. */
export type WrittenCall = { readonly name: string; readonly input: unknown };

/**
 * Returns the calls that may have changed what the capture at index `at` tells of: those of the
 * last step before it that ran any for which `mayChange` holds. Empty where a person or another
 * program has changed files.
 */
export function findCauses(
  entries: readonly Entry[],
  at: number,
  mayChange: (call: WrittenCall) => boolean,
): readonly WrittenCall[] {
  const isBefore = (entry: Entry): boolean => ['reply', 'run_ended'].includes(entry.kind) || isAfterCalls(entry);
  const before = lastIndexBefore(entries, at, isBefore);
  // The calls of the reply that a capture follows run later; at the end of a run, and where a fork
  // begins, all have run.
  const from = entries[before]?.kind === 'reply' ? before - 1 : at - 1;
  const ran = new Set<number>();
  let isLast = false;
  for (let index = from; index >= 0; index -= 1) {
    const entry = entries[index] as Entry;
    if (entry.kind === 'run_started') return [];
    if (entry.kind === 'files') isLast = true;
    // A call without a key ran while the reply streamed, which only calls without effects do.
    if (entry.kind === 'outcomes')
      for (const { index: block, log } of entry.outcomes)
        if (log.decision === 'allowed' && log.key !== null) ran.add(block);
    if (entry.kind !== 'reply') continue;
    const calls = entry.message.content.flatMap((block, position) =>
      block.type === 'tool_use' && ran.has(position) ? [{ name: block.name, input: block.input }] : [],
    );
    const causes = calls.filter(mayChange);
    if (causes.length > 0 || isLast) return causes;
    ran.clear();
  }
  return [];
}

// Says which snapshot a session has of each of its folders. A capture names one (T1), and so does a
// rewind (T7): what it has brought back, and what lies in the folders when the conversation that
// describes them is left behind.
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

// Follows a folder through forks (T10): what was captured, or brought back, before a fork moved
// counts as of the folder that the fork has in its place.
/** Returns `entries` with each captured folder under the name that it has at their end. */
export function withMovedRoots(entries: readonly Entry[]): readonly Entry[] {
  const names = new Map<string, string>();
  const nameOf = (root: string): string => names.get(root) ?? root;
  const renamed = entries.toReversed().map((entry): Entry => {
    if (entry.kind === 'notice' && entry.notice.kind === 'forked' && entry.notice.moved) {
      const { from, to } = entry.notice.moved;
      names.set(from, nameOf(to));
    }
    return names.size === 0 ? entry : renameRoots(entry, nameOf);
  });
  return names.size === 0 ? entries : renamed.toReversed();
}

function renameRoots(entry: Entry, nameOf: (root: string) => string): Entry {
  const rename = <Named extends { readonly root: string }>(roots: readonly Named[]): readonly Named[] =>
    roots.map((each) => ({ ...each, root: nameOf(each.root) }));
  if (entry.kind === 'files') return { ...entry, roots: rename(entry.roots) };
  const rewound = rewoundIn(entry);
  if (entry.kind !== 'steered' || !rewound) return entry;
  const { files, known } = rewound;
  const renamed = { ...rewound, ...(files && { files: rename(files) }), ...(known && { known: rename(known) }) };
  return { ...entry, steered: { ...entry.steered, rewound: renamed } };
}
