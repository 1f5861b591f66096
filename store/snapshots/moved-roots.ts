// Follows a folder through forks (T10): what was captured before a fork moved counts as captured of
// the folder that the fork has in its place.
import type { Entry } from '../log/entries.ts';

/** Returns `entries` with each captured folder under the name that it has at their end. */
export function withMovedRoots(entries: readonly Entry[]): readonly Entry[] {
  const names = new Map<string, string>();
  const nameOf = (root: string): string => names.get(root) ?? root;
  const renamed = entries.toReversed().map((entry): Entry => {
    if (entry.kind === 'notice' && entry.notice.kind === 'forked' && entry.notice.moved) {
      const { from, to } = entry.notice.moved;
      names.set(from, nameOf(to));
    }
    if (entry.kind !== 'files' || names.size === 0) return entry;
    return { ...entry, roots: entry.roots.map((root) => ({ ...root, root: nameOf(root.root) })) };
  });
  return names.size === 0 ? entries : renamed.toReversed();
}
