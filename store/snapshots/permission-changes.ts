// Changes of permissions alone, which git's comparison of trees does not tell.
import { isFolder, type RawPath, type SnapshotChange } from './listing.ts';
import { barePath, ITSELF, permissionsAt, type PermissionsNote } from './snapshot-notes.ts';

/**
 * The paths of a snapshot with their modes as git has them, or `folder`; a folder's ends with a
 * slash.
 */
export type PathModes = ReadonlyMap<RawPath, string>;

/** A snapshot's note on permissions, and what it has, which costs more to be asked for. */
export type NotedSnapshot = { readonly note: PermissionsNote; readonly listPaths: () => Promise<PathModes> };

/**
 * Adds the files and folders of which only the permissions differ. One that came or went is among
 * the changes, or goes with what is in it.
 */
export async function withPermissionChanges(
  changes: readonly SnapshotChange[],
  from: NotedSnapshot,
  to: NotedSnapshot,
): Promise<readonly SnapshotChange[]> {
  if (from.note.umask === null || to.note.umask === null) return changes;
  const changedPaths = new Set(changes.map(({ path }) => path));
  const isLike = from.note.umask === to.note.umask;
  // Where the usual ones are the same, only what is noted can differ.
  const noted = new Set([...from.note.odd.keys(), ...to.note.odd.keys()]);
  const differing = [...noted].filter((path) => from.note.odd.get(path) !== to.note.odd.get(path));
  const isOnBoth = (path: RawPath): boolean => from.note.odd.has(path) && to.note.odd.has(path);
  const isClear = isLike && differing.every((path) => !isFolder(path) || isOnBoth(path) || path === ITSELF);
  const [before, after] = isClear ? [null, null] : [await from.listPaths(), await to.listPaths()];
  const candidates = isLike ? differing : [...(after as PathModes).keys()];
  const counts = { kind: 'changed', insertions: 0, deletions: 0 } as const;
  const changed = candidates.filter((path) => {
    if (changedPaths.has(path) || (before && !before.has(path)) || (after && !after.has(path))) return false;
    const mode = isFolder(path) ? 'folder' : (after?.get(path) ?? '100644');
    return isOther(from.note, to.note, path, mode);
  });
  return [...changes, ...changed.map((path) => ({ path, ...counts }))];
}

function isOther(from: PermissionsNote, to: PermissionsNote, path: RawPath, mode: string): boolean {
  const [had, has] = [from, to].map((note) => permissionsAt(note, barePath(path), mode));
  if (had === undefined || has === undefined) return false;
  const known = from.isOfOldKind || to.isOfOldKind ? 0o777 : 0o7777;
  return (had & known) !== (has & known);
}
