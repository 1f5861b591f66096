// The empty folders of a snapshot. Another machine may have written the list: only names below the
// folder count, and no link is followed.
import { namesIn, type RawPath } from './listing.ts';
import { gitArguments, shadowEnvironment } from './shadow.ts';
import { nameTree } from './snapshot-ids.ts';
import type { SnapshotMeans } from './take-snapshot.ts';

export async function listEmptyFolders(
  { run, git, place }: Pick<SnapshotMeans, 'run' | 'git' | 'place'>,
  snapshot: string,
): Promise<readonly RawPath[]> {
  const args = ['cat-file', 'blob', '--end-of-options', nameTree(snapshot, 'folders')];
  const printed = await run(gitArguments(git, place, args), { env: shadowEnvironment(), cwd: place.own });
  return namesIn(printed).filter(isBelow);
}

function isBelow(folder: RawPath): boolean {
  const parts = (folder.endsWith('/') ? folder.slice(0, -1) : folder).split('/');
  return parts.every((part) => !['', '.', '..', '.git'].includes(part.toLowerCase()));
}

/** Makes the folders that the file `$1` lists in the current one, and uses the file `$1.made`. */
export const MAKE_FOLDERS_SCRIPT = `
make_folders() {
  xargs -0 -r sh -c '
    for folder; do
      at= rest=$folder/
      while [ -n "$rest" ]; do
        at=$at\${rest%%/*} rest=\${rest#*/}
        [ -L "$at" ] && continue 2
        at=$at/
      done
      printf "%s\\0" "$folder"
    done' sh < "$1" > "$1.made" && xargs -0 -r mkdir -p -- < "$1.made"
}
`;
