// Writes a snapshot into a new folder (T10).
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { listEmptyFolders, MAKE_FOLDERS_SCRIPT } from './empty-folders.ts';
import { gitArguments, shadowEnvironment } from './shadow.ts';
import { nameTree } from './snapshot-ids.ts';
import type { SnapshotMeans } from './take-snapshot.ts';

/** Arguments: the tree of the snapshot's files, the folder, the session's own one, and git. */
const CHECK_OUT_SCRIPT = `${MAKE_FOLDERS_SCRIPT}
from=$1; root=$2; own=$3; shift 3
cd -- "$root" || exit 1
"$@" read-tree --end-of-options "$from" && "$@" checkout-index --all --force || exit 1
make_folders "$own/fork-folders"
`;

/** `folder` is there, and has none of the files. Rejects with git's sentence. */
export async function checkOut(
  means: Pick<SnapshotMeans, 'run' | 'git' | 'place'>,
  snapshot: string,
  folder: string,
): Promise<void> {
  const { run, git, place } = means;
  const index = join(place.own, 'fork-index');
  // An attempt that was killed leaves them, and no other process uses this index.
  for (const left of [index, `${index}.lock`]) await rm(left, { force: true });
  const folders = await listEmptyFolders(means, snapshot);
  await writeFile(join(place.own, 'fork-folders'), folders.map((path) => `${path}\0`).join(''), 'latin1');
  const script = ['sh', '-c', CHECK_OUT_SCRIPT, 'sh', nameTree(snapshot, 'files'), folder, place.own];
  const env = shadowEnvironment(index);
  await run([...script, ...gitArguments(git, place, [], folder)], { env, cwd: place.own, writes: folder });
  await rm(index, { force: true });
}
