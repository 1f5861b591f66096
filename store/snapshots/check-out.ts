// Writes a snapshot into a new folder (T10).
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { gitArguments, shadowEnvironment } from './shadow.ts';
import type { SnapshotMeans } from './take-snapshot.ts';

/** Arguments: the snapshot, the folder, the session's own one, and git. */
const CHECK_OUT_SCRIPT = `
from=$1; root=$2; own=$3; shift 3
cd -- "$root" || exit 1
"$@" read-tree "$from:files" && "$@" checkout-index --all --force || exit 1
"$@" cat-file blob "$from:folders" > "$own/fork-folders" && xargs -0 -r mkdir -p -- < "$own/fork-folders"
`;

/** `folder` is there, and has none of the files. Rejects with git's sentence. */
export async function checkOut(
  { run, git, place }: Pick<SnapshotMeans, 'run' | 'git' | 'place'>,
  snapshot: string,
  folder: string,
): Promise<void> {
  const index = join(place.own, 'fork-index');
  // An attempt that was killed leaves them, and no other process uses this index.
  for (const left of [index, `${index}.lock`]) await rm(left, { force: true });
  const script = ['sh', '-c', CHECK_OUT_SCRIPT, 'sh', snapshot, folder, place.own];
  const env = shadowEnvironment(index);
  await run([...script, ...gitArguments(git, place, [], folder)], { env, cwd: place.own, writes: folder });
  await rm(index, { force: true });
}
