// Says what a restore would change (T7), and what stands in its way.
import { lstat, readdir } from 'node:fs/promises';
import { codeOf } from '../../system/text.ts';
import type { SnapshotCaps } from './capture-folder.ts';
import { bytesOf, foldersOf, isAtOrBelow, isFolder, type RawPath, showPath, type SnapshotChange } from './listing.ts';
import type { ShadowPlace, ShadowReading } from './shadow.ts';
import { findUnknown, type NestedRoot } from './nested-roots.ts';
import { createAbsenceJudge, readSnapshotNotes } from './read-notes.ts';
import { listGitFolders, type Omitted, type UncapturedWhy } from './snapshot-notes.ts';
import { compareSnapshots, type SnapshotMeans } from './take-snapshot.ts';
import { lstatSync } from 'node:fs';
import { listHeldPairs } from './compare.ts';
import { modeOf } from './folder-index.ts';
import { readBlobs } from './read-blobs.ts';
import { readContent } from './read-content.ts';

/** `now` is the snapshot of the folder as it is, `known` the last one that the session knows. */
export type Restoring = {
  readonly known: string;
  readonly now: string;
  readonly to: string;
  /** Overwrites what others have changed since `known`; `now` has it. */
  readonly force: boolean;
  /** Files that are left as they are. */
  readonly kept?: ReadonlySet<RawPath>;
  /** Folders in it that go back by themselves. */
  readonly apart?: readonly RawPath[] | undefined;
  /** Other folders of the session that lie in it or around it: what they know, nobody else did. */
  readonly nested?: readonly NestedRoot[] | undefined;
  /** Files that the caller itself has put there: they go, whatever was captured then. */
  readonly own?: ReadonlySet<RawPath>;
  /** Says of files that are not in `now` why. */
  readonly leftOut?: readonly Omitted[];
};

/** The keys of the configuration that leave a file out. */
const BOUNDS: Readonly<Partial<Record<Omitted['why'], keyof SnapshotCaps>>> = {
  large: 'fileBytes',
  files: 'files',
  bytes: 'bytes',
};

/** Says which file stands in the way, and why. */
export class RestoreProblem extends Error {
  override readonly name = 'RestoreProblem';
}

/** Says that someone else has changed a file, or may have. */
export class ForeignProblem extends RestoreProblem {
  constructor(path: RawPath, wasCaptured = true) {
    const what = wasCaptured
      ? 'was changed by someone else since the last step'
      : 'was not captured at the last step, and someone else may have changed it since';
    super(`${showPath(path)} ${what}: use force to overwrite it`);
  }
}

/**
 * What stays as it is although it was another then, and why: a file was not captured then, or it is
 * git's own folder, which no snapshot holds.
 */
export type UntakenFile = { readonly path: RawPath; readonly why: UncapturedWhy | 'git_made' | 'git_gone' };

export type RestorePreview = {
  readonly changes: readonly SnapshotChange[];
  readonly untaken: readonly UntakenFile[];
};

/** Returns what would change. Throws RestoreProblem when a file stands in the way. */
export async function previewRestore(
  means: SnapshotMeans,
  { known, now, to, force, kept: keptPaths, apart = [], nested = [], own, leftOut }: Restoring,
): Promise<RestorePreview> {
  const differing = (await compareSnapshots(means, now, to)).filter(
    ({ path }) => keptPaths?.has(path) !== true && !isAtOrBelow(path, apart),
  );
  const untaken = await findUntaken(means, to, differing, own);
  const stays = new Set(untaken.map(({ path }) => path));
  const needed = differing.filter(({ path }) => !stays.has(path));
  const { unheld, inTheWay } = await findObstacles(means.place, needed);
  const there = await findAlreadyThere({ ...means, ...means.place }, { now, to }, unheld);
  // Force does not help there.
  const first = inTheWay ?? unheld.find((path) => !there.has(path));
  if (first !== undefined) throw new RestoreProblem(describeUnheld(first, leftOut));
  const changes = needed.filter(({ path }) => !there.has(path));
  const git = now === to ? [] : await findGitFolders(means, { now, to });
  if (!force && known !== now) {
    const others = new Map((await compareSnapshots(means, known, now)).map(({ path, kind }) => [path, kind]));
    const changed = changes.filter(({ path }) => others.has(path)).map(({ path }) => path);
    const { root } = means.place;
    const [foreign] = await findUnknown({ ...means, ...means.place }, { root, now, nested }, changed);
    if (foreign !== undefined)
      throw new ForeignProblem(foreign, others.get(foreign) !== 'added' || (await wasAbsent(means, known, foreign)));
  }
  return { changes, untaken: [...git, ...untaken] };
}

/** Tells whether nothing was there when the snapshot was taken. */
async function wasAbsent(means: SnapshotMeans, snapshot: string, path: RawPath): Promise<boolean> {
  return (await createAbsenceJudge({ ...means, ...means.place }, snapshot, [path]))(path) === null;
}

/** Finds git's own folders that are there now and were not then, or the other way round. */
async function findGitFolders(
  { place, git, run }: SnapshotMeans,
  { now, to }: Pick<Restoring, 'now' | 'to'>,
): Promise<readonly UntakenFile[]> {
  const reading = { ...place, git, run };
  const [there, then] = await Promise.all([readSnapshotNotes(reading, now), readSnapshotNotes(reading, to)]);
  // Snapshots were once taken without rules, and of the top it is known alone where it had none.
  if (then.rules === null) return [];
  const [has, had] = [new Set(listGitFolders(there)), new Set(listGitFolders(then))];
  const isTopMade = then.rules.isRepository === false && there.rules?.isRepository === undefined;
  const found: UntakenFile[] = [];
  // A rule that ignores one since, or no longer, changes nothing about it.
  for (const path of [...(isTopMade ? ['.git'] : []), ...has])
    if (!had.has(path) && (await kindAt(place, path)) !== null) found.push({ path, why: 'git_made' });
  for (const path of had)
    if (!has.has(path) && (await kindAt(place, path)) === null) found.push({ path, why: 'git_gone' });
  return found;
}

/** Finds the files that the snapshot lacks and that may have been there when it was taken. */
async function findUntaken(
  { place: { gitDir }, git, run }: SnapshotMeans,
  to: string,
  changes: readonly SnapshotChange[],
  own: ReadonlySet<RawPath> | undefined,
): Promise<readonly UntakenFile[]> {
  const deleted = changes.filter(({ kind, path }) => kind === 'deleted' && own?.has(path) !== true);
  if (deleted.length === 0) return [];
  const paths = deleted.map(({ path }) => path);
  const judge = await createAbsenceJudge({ gitDir, git, run }, to, paths);
  return paths.flatMap((path) => {
    const why = judge(path);
    return why === null ? [] : [{ path, why }];
  });
}

function describeUnheld(path: RawPath, leftOut: readonly Omitted[] = []): string {
  const why = leftOut.find((one) => one.path === path)?.why;
  const bound = why && BOUNDS[why];
  const beyond = bound ? `, for it is beyond the bound snapshots.${bound}` : '';
  return `${showPath(path)} is in the way, and no snapshot holds it${beyond}: move it away first`;
}

/**
 * `unheld` are files that no snapshot holds where another one is to be; `inTheWay` is one, or a
 * link, where there is to be a folder, or the other way round.
 */
type Obstacles = { readonly unheld: readonly RawPath[]; readonly inTheWay?: RawPath };

async function findObstacles(place: ShadowPlace, changes: readonly SnapshotChange[]): Promise<Obstacles> {
  const deleted = new Set(changes.flatMap(({ kind, path }) => (kind === 'deleted' ? [path] : [])));
  // Below a file or a link that goes lies nothing of this folder.
  const written = changes.filter(
    ({ kind, path }) => kind !== 'deleted' && !isFolder(path) && !foldersOf(path).some((folder) => deleted.has(folder)),
  );
  const unheld: RawPath[] = [];
  // Git would remove what stands where a folder is to be.
  for (const folder of new Set(written.flatMap(({ path }) => foldersOf(path))))
    if ((await kindAt(place, folder)) === 'file') return { unheld, inTheWay: folder };
  for (const { kind, path } of written) {
    const there = await kindAt(place, path);
    if (there === 'file' && kind === 'added') unheld.push(path);
    if (there !== 'folder') continue;
    const obstacle = await findUnheld(place, path, deleted);
    if (obstacle !== null) return { unheld, inTheWay: obstacle };
  }
  return { unheld };
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
    const obstacle = entry.isDirectory() ? await findUnheld(place, path, deleted) : deleted.has(path) ? null : path;
    if (obstacle !== null) return obstacle;
  }
  return null;
}

const pathIn = (root: string, path: RawPath): Buffer => Buffer.concat([Buffer.from(`${root}/`), bytesOf(path)]);

/**
 * Finds files that no snapshot of a folder as it is now holds, and that are all the same as another
 * snapshot has them (T7): beyond a bound, or ignored by now. There is nothing to restore of them.
 * Returns those of `paths`, which `now` lacks, that lie in the folder as `to` has them.
 */
async function findAlreadyThere(
  reading: ShadowReading & Pick<ShadowPlace, 'root'>,
  { now, to }: { readonly now: string; readonly to: string },
  paths: readonly RawPath[],
): Promise<ReadonlySet<RawPath>> {
  if (paths.length === 0) return new Set();
  const requested = new Set(paths);
  const wanted = new Map<string, { readonly path: RawPath; readonly mode: string }[]>();
  for (const { path, to: file } of await listHeldPairs(reading, { from: now, to, paths: [] })) {
    if (!file || !requested.has(path)) continue;
    const same = wanted.get(file.blob) ?? [];
    wanted.set(file.blob, same);
    same.push({ path, mode: file.mode });
  }
  const found = new Set<RawPath>();
  for await (const [blob, content] of readBlobs(reading, [...wanted.keys()]))
    for (const { path, mode } of wanted.get(blob) ?? [])
      if (isLike(placeOf(reading.root, path), mode, content)) found.add(path);
  return found;
}

const placeOf = (root: string, path: RawPath): Buffer => Buffer.concat([Buffer.from(`${root}/`), bytesOf(path)]);

/** Returns false for an entry that cannot be read. */
function isLike(place: Buffer, mode: string, content: Buffer): boolean {
  try {
    const stats = lstatSync(place);
    if (modeOf(stats) !== mode || stats.size !== content.length) return false;
    const there = readContent(place, stats.isSymbolicLink(), content.length);
    return typeof there !== 'string' && there.equals(content);
  } catch {
    return false;
  }
}
