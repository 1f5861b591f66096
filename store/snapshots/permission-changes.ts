// Changes of permissions alone, which git's comparison of trees does not tell.
import type { RawPath, SnapshotChange } from './listing.ts';
import type { PermissionsNote } from './snapshot-notes.ts';

/**
 * Adds the files and folders of which only the permissions differ. A path whose note is there on one
 * side alone has the usual ones on the other; one that came or went is among the changes. Where
 * the usual ones are others, nothing is told apart.
 */
export function withPermissionChanges(
  changes: readonly SnapshotChange[],
  from: PermissionsNote,
  to: PermissionsNote,
): readonly SnapshotChange[] {
  if (from.umask !== to.umask) return changes;
  const told = new Set(changes.map(({ path }) => path));
  const isNew = (path: RawPath): boolean => path.endsWith('/') || told.has(path);
  const differing = [...new Set([...from.odd.keys(), ...to.odd.keys()])].filter(
    (path) => !isNew(path) && from.odd.get(path) !== to.odd.get(path) && isKnown(from, path) && isKnown(to, path),
  );
  const counts = { kind: 'changed', insertions: 0, deletions: 0 } as const;
  return [...changes, ...differing.map((path) => ({ path, ...counts }))];
}

const isKnown = ({ odd }: PermissionsNote, path: RawPath): boolean => (odd.get(path) ?? 0) >= 0;
