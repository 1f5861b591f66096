// Reads the notes of a snapshot, which it has in addition to its files.
import type { ShadowReading } from './run-held.ts';
import { parseFolders } from './empty-folders.ts';
import { foldersOf, parseTree, type RawPath, type TreeLine } from './listing.ts';
import { readBlobs } from './read-blobs.ts';
import type { PathModes } from './permission-changes.ts';
import { wholeLines } from './read-beginning.ts';
import { gitArguments, shadowEnvironment } from './shadow.ts';
import { nameTree, requireSnapshotId } from './snapshot-ids.ts';
import { ITSELF, judgeAbsence, parseNotes, type SnapshotNotes, type UncapturedWhy } from './snapshot-notes.ts';

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
