// The transcript entry that names the snapshot with the folders of a run, and what has changed
// since the one before (T1). The model never sees it.
import type { FilesEntry, RootSnapshot } from '../../workflows/contract/rewind.ts';

export type { FilesEntry, RootSnapshot };

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
