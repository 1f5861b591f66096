// The transcript entry that names the snapshot with the folders of a run, and what has changed
// since the one before (T1). The model never sees it.
import type { Hash } from '../../workflows/contract/ids.ts';

/**
 * `at` is in milliseconds since the epoch. `host` is the machine whose disk was captured, where
 * hosts share a store.
 */
export type FilesEntry = {
  readonly kind: 'files';
  readonly roots: readonly RootSnapshot[];
  readonly at: number;
  readonly host?: string;
};

/** One folder of the run. */
export type RootSnapshot = {
  /** The absolute real path of the folder. */
  readonly root: string;
  /** The hash of the snapshot, and that of the one before; null for the first of the session. */
  readonly id: string;
  readonly parent: string | null;
  /** The number of captured files. */
  readonly files: number;
  /** Bytes that were captured anew. */
  readonly bytes: number;
  readonly added: number;
  readonly changed: number;
  readonly deleted: number;
  /** Lines, of text files. */
  readonly insertions: number;
  readonly deletions: number;
  /** Names of changed files for people, the first of them. */
  readonly names: readonly string[];
  /** Values of a shared store: packs of git with what is new in it, for other hosts. */
  readonly packs?: readonly Hash[];
  /** What is not captured; absent when everything is. */
  readonly leftOut?: { readonly count: number; readonly first: string };
};

/**
 * Sums up what has changed, as in `3 files changed (+12 −4)`; null for a first snapshot, and where
 * only what was left out is another.
 */
export function filesText({ roots }: FilesEntry): string | null {
  const later = roots.filter(({ parent }) => parent !== null);
  if (later.length === 0) return null;
  const sum = (of: (root: RootSnapshot) => number): number => later.reduce((total, root) => total + of(root), 0);
  const files = sum(({ added, changed, deleted }) => added + changed + deleted);
  if (files === 0) return null;
  const lines = `+${sum(({ insertions }) => insertions)} −${sum(({ deletions }) => deletions)}`;
  return `${files} ${files === 1 ? 'file' : 'files'} changed (${lines})`;
}
