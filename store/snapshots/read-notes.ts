// Reads the notes of a snapshot, which it has in addition to its files.
// The empty folders of a snapshot. Another machine may have written the list: only names below the
// folder count.
// Changes of permissions alone, which git's comparison of trees does not tell.
import {
  foldersOf,
  isFolder,
  namesIn,
  parseTree,
  type RawPath,
  type SnapshotChange,
  type TreeLine,
} from './listing.ts';
import { wholeLines } from './read-beginning.ts';
import { readBlobs } from './read-blobs.ts';
import { gitArguments, nameTree, requireSnapshotId, shadowEnvironment, type ShadowReading } from './shadow.ts';
import {
  barePath,
  ITSELF,
  judgeAbsence,
  parseNotes,
  permissionsAt,
  type PermissionsNote,
  type SnapshotNotes,
  type UncapturedWhy,
} from './snapshot-notes.ts';

const NOTES = ['modes', 'omitted', 'rules'] as const;

/** Rejects with what git said. */
export async function readSnapshotNotes(reading: ShadowReading, snapshot: string): Promise<SnapshotNotes> {
  requireSnapshotId(snapshot);
  const ids = await listBlobs(reading, snapshot, []);
  const texts = await readTexts(
    reading,
    NOTES.flatMap((name) => ids.get(name) ?? []),
  );
  const textOf = (name: (typeof NOTES)[number]): string => texts.get(ids.get(name) ?? '') ?? '';
  return parseNotes({ modes: textOf('modes'), omitted: textOf('omitted'), rules: textOf('rules') });
}

/**
 * Returns a judge of `paths`, none of which the snapshot has: why one may have been there when it
 * was taken, null where nothing was. `of listed`: where more was left out than is listed, only what
 * is listed counts.
 */
export async function createAbsenceJudge(
  reading: ShadowReading,
  snapshot: string,
  paths: readonly RawPath[],
  which: 'of all' | 'of listed' = 'of all',
): Promise<(path: RawPath) => UncapturedWhy | null> {
  const all = await readSnapshotNotes(reading, snapshot);
  const notes = which === 'of all' ? all : { ...all, isOmittedInPart: false };
  const folders = new Set(['', ...paths.flatMap(foldersOf).map((folder) => `${folder}/`)]);
  const ids = await listBlobs(reading, nameTree(snapshot, 'files'), ['-r']);
  const idOf = (folder: RawPath): string | undefined => ids.get(`${folder}${IGNORE_FILE}`);
  const texts = await readTexts(
    reading,
    [...folders].flatMap((folder) => idOf(folder) ?? []),
  );
  return judgeAbsence(notes, (folder) => {
    const text = texts.get(idOf(folder) ?? '');
    return text === undefined ? undefined : wholeLines(text);
  });
}

const IGNORE_FILE = '.gitignore';

/** Lists what a snapshot has, empty folders included. Rejects with what git said. */
export async function listPathModes(reading: ShadowReading, snapshot: string): Promise<PathModes> {
  const files = await listLines(reading, nameTree(snapshot, 'files'), ['-r', '-t']);
  const { id } = (await listLines(reading, snapshot, [])).find(({ path }) => path === 'folders') ?? {};
  const empty = id === undefined ? '' : ((await readTexts(reading, [id])).get(id) ?? '');
  const named = files.map(({ path, kind, mode }) =>
    kind === 'tree' ? ([`${path}/`, 'folder'] as const) : ([path, mode] as const),
  );
  return new Map([...named, ...parseFolders(empty).map((path) => [`${path}/`, 'folder'] as const), [ITSELF, 'folder']]);
}

/** Returns the ids of the files of a tree, but for links. */
async function listBlobs(
  reading: ShadowReading,
  tree: string,
  how: readonly string[],
): Promise<ReadonlyMap<RawPath, string>> {
  const lines = await listLines(reading, tree, how);
  const isFile = ({ mode, kind }: TreeLine): boolean => kind === 'blob' && mode.startsWith('100');
  return new Map(lines.filter(isFile).map(({ path, id }) => [path, id]));
}

async function listLines(
  { gitDir, git, run }: ShadowReading,
  tree: string,
  how: readonly string[],
): Promise<readonly TreeLine[]> {
  const args = gitArguments(git, { gitDir }, ['ls-tree', '-z', '--full-tree', ...how, '--end-of-options', tree]);
  return parseTree(await run(args, { env: shadowEnvironment(), cwd: gitDir }));
}

/** Returns the texts of blobs, as latin1, by their ids. */
async function readTexts(reading: ShadowReading, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const texts = new Map<string, string>();
  for await (const [id, content] of readBlobs(reading, [...new Set(ids)])) texts.set(id, content.toString('latin1'));
  return texts;
}

/** Parses a list of folders, and returns them without a slash at the end. */
export function parseFolders(list: string): readonly RawPath[] {
  return namesIn(list)
    .map((folder) => (folder.endsWith('/') ? folder.slice(0, -1) : folder))
    .filter(isBelow);
}

/** Tells whether a path lies below the folder that it begins in, and in no repository's own one. */
export function isBelow(path: RawPath): boolean {
  return path.split('/').every((part) => !['', '.', '..', '.git'].includes(part.toLowerCase()));
}

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
