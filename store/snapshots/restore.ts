// Brings a folder back to a snapshot (T7): exactly the files that differ are written or deleted.
// What no snapshot holds, ignored files above all, is never touched. Attempted again, it goes on.
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { listEmptyFolders, MAKE_FOLDERS_SCRIPT } from './empty-folders.ts';
import { foldersOf, type RawPath, type SnapshotChange } from './listing.ts';
import { gitArguments, shadowEnvironment } from './shadow.ts';
import { nameTree } from './snapshot-ids.ts';
import type { SnapshotMeans } from './take-snapshot.ts';

/**
 * Files that stand where a folder is to be go first, the others last, so that a file that moved is
 * never in neither place. Arguments: the tree of the snapshot's files, the folder, and git.
 */
const RESTORE_SCRIPT = `${MAKE_FOLDERS_SCRIPT}
to=$1; root=$2; own=$3; shift 3
cd "$root" || exit 1
xargs -0 -r rm -f -- < "$own/first" || exit 1
xargs -0 -r rmdir -p --ignore-fail-on-non-empty -- < "$own/emptied-first" 2>"$own/ignored" || :
"$@" read-tree --end-of-options "$to" || exit 1
"$@" checkout-index --force -z --stdin < "$own/written" || exit 1
xargs -0 -r rm -f -- < "$own/last" || exit 1
xargs -0 -r rmdir -p --ignore-fail-on-non-empty -- < "$own/emptied" 2>"$own/ignored" || :
sort -z -r "$own/folders" | xargs -0 -r rmdir --ignore-fail-on-non-empty -- 2>"$own/ignored" || :
make_folders "$own/folders.to"
`;

/** Writes and deletes `changes`, which lead to the snapshot `to`. Rejects with git's sentence. */
export async function restore(means: SnapshotMeans, to: string, changes: readonly SnapshotChange[]): Promise<void> {
  const { place, git, run } = means;
  const written = changes.filter(({ kind }) => kind !== 'deleted').map(({ path }) => path);
  const deleted = changes.filter(({ kind }) => kind === 'deleted').map(({ path }) => path);
  const filesToBe = new Set(written);
  const foldersToBe = new Set(written.flatMap(foldersOf));
  const isFirst = (path: RawPath): boolean =>
    foldersToBe.has(path) || foldersOf(path).some((folder) => filesToBe.has(folder));
  const [first, last] = [deleted.filter(isFirst), deleted.filter((path) => !isFirst(path))];
  const emptied = { 'emptied-first': foldersAround(first), emptied: foldersAround(last) };
  const lists = { first, last, written, ...emptied, 'folders.to': await listEmptyFolders(means, to) };
  for (const [name, paths] of Object.entries(lists)) {
    const text = paths.map((path) => `${path}\0`).join('');
    await writeFile(join(place.own, name), text, 'latin1');
  }
  const script = ['sh', '-c', RESTORE_SCRIPT, 'sh', nameTree(to, 'files'), place.root, place.own];
  const index = join(place.own, 'restore-index');
  // A killed worker leaves it, and no other process uses this index.
  await rm(`${index}.lock`, { force: true });
  const env = shadowEnvironment(index);
  await run([...script, ...gitArguments(git, place, [], place.root)], { env, cwd: place.own, writes: place.root });
}

/** The folders of paths, deepest first. */
function foldersAround(paths: readonly RawPath[]): readonly RawPath[] {
  const folders = new Set(paths.flatMap((path) => foldersOf(path).slice(0, 1)));
  return [...folders].toSorted((a, b) => b.split('/').length - a.split('/').length);
}
