// Brings a folder back to a snapshot (T7): exactly the files that differ are written or deleted.
// What no snapshot holds, ignored files above all, is never touched. Attempted again, it goes on.
import { lstat, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf } from '../../system/text.ts';
import type { LeftOut, SnapshotCaps } from './capture-folder.ts';
import { listEmptyFolders, MAKE_FOLDERS_SCRIPT } from './empty-folders.ts';
import { bytesOf, showPath, type SnapshotChange, type RawPath } from './listing.ts';
import { gitArguments, shadowEnvironment, type ShadowPlace } from './shadow.ts';
import { nameTree } from './snapshot-ids.ts';
import { compareSnapshots, type SnapshotMeans } from './take-snapshot.ts';

/** `now` is the snapshot of the folder as it is, `known` the last one that the session knows. */
export type Restoring = {
  readonly known: string;
  readonly now: string;
  readonly to: string;
  /** Overwrites what others have changed since `known`; `now` has it. */
  readonly force: boolean;
  /** Files that are left as they are. */
  readonly kept?: ReadonlySet<RawPath>;
  /** Says of files that are not in `now` why. */
  readonly leftOut?: readonly LeftOut[];
};

/** The keys of the configuration that leave a file out. */
const BOUNDS: Readonly<Partial<Record<LeftOut['why'], keyof SnapshotCaps>>> = {
  large: 'fileBytes',
  files: 'files',
  bytes: 'bytes',
};

/** Says which file stands in the way, and why. */
export class RestoreProblem extends Error {
  override readonly name = 'RestoreProblem';
}

/** Says that someone else has changed a file. */
export class ForeignProblem extends RestoreProblem {
  constructor(path: RawPath) {
    super(`${showPath(path)} was changed by someone else since the last step: use force to overwrite it`);
  }
}

/** Returns what would change. Throws RestoreProblem when a file stands in the way. */
export async function previewRestore(
  means: SnapshotMeans,
  { known, now, to, force, kept, leftOut }: Restoring,
): Promise<readonly SnapshotChange[]> {
  const changes = (await compareSnapshots(means, now, to)).filter(({ path }) => kept?.has(path) !== true);
  // Force does not help there.
  const inTheWay = await findInTheWay(means.place, changes);
  if (inTheWay !== null) throw new RestoreProblem(describeUnheld(inTheWay, leftOut));
  if (!force && known !== now) {
    const others = new Set((await compareSnapshots(means, known, now)).map(({ path }) => path));
    const changed = changes.find(({ path }) => others.has(path));
    if (changed) throw new ForeignProblem(changed.path);
  }
  return changes;
}

function describeUnheld(path: RawPath, leftOut: readonly LeftOut[] = []): string {
  const why = leftOut.find((one) => one.path === path)?.why;
  const bound = why && BOUNDS[why];
  const beyond = bound ? `, for it is beyond the bound snapshots.${bound}` : '';
  return `${showPath(path)} is in the way, and no snapshot holds it${beyond}: move it away first`;
}

/** Finds a file that would be overwritten and that no snapshot holds. */
async function findInTheWay(place: ShadowPlace, changes: readonly SnapshotChange[]): Promise<RawPath | null> {
  const deleted = new Set(changes.flatMap(({ kind, path }) => (kind === 'deleted' ? [path] : [])));
  // Below a file or a link that goes lies nothing of this folder.
  const written = changes.filter(
    ({ kind, path }) => kind !== 'deleted' && !foldersOf(path).some((folder) => deleted.has(folder)),
  );
  // Git would remove what stands where a folder is to be.
  for (const folder of new Set(written.flatMap(({ path }) => foldersOf(path))))
    if ((await kindAt(place, folder)) === 'file') return folder;
  for (const { kind, path } of written) {
    const there = await kindAt(place, path);
    if (there === 'file' && kind === 'added') return path;
    if (there !== 'folder') continue;
    const held = await findUnheld(place, path, deleted);
    if (held !== null) return held;
  }
  return null;
}

async function kindAt({ root }: ShadowPlace, path: RawPath): Promise<'file' | 'folder' | null> {
  try {
    return (await lstat(pathIn(root, path))).isDirectory() ? 'folder' : 'file';
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(codeOf(error) ?? '')) return null;
    throw error;
  }
}

/** Finds a file below a folder that is not among those to be deleted. */
async function findUnheld(place: ShadowPlace, folder: RawPath, deleted: ReadonlySet<RawPath>): Promise<RawPath | null> {
  const entries = await readdir(pathIn(place.root, folder), { withFileTypes: true, encoding: 'buffer' });
  for (const entry of entries) {
    const path = `${folder}/${entry.name.toString('latin1')}`;
    const held = entry.isDirectory() ? await findUnheld(place, path, deleted) : deleted.has(path) ? null : path;
    if (held !== null) return held;
  }
  return null;
}

const pathIn = (root: string, path: RawPath): Buffer => Buffer.concat([Buffer.from(`${root}/`), bytesOf(path)]);

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

function foldersOf(path: RawPath): readonly RawPath[] {
  const found: RawPath[] = [];
  for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1)) found.push(path.slice(0, at));
  return found;
}

/** The folders of paths, deepest first. */
function foldersAround(paths: readonly RawPath[]): readonly RawPath[] {
  const folders = new Set(paths.flatMap((path) => foldersOf(path).slice(0, 1)));
  return [...folders].toSorted((a, b) => b.split('/').length - a.split('/').length);
}
