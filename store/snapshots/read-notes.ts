// Reads what a snapshot says of itself beside its files.
import type { ShadowReading } from './run-held.ts';
import { foldersOf, namesIn, type RawPath } from './listing.ts';
import { readBlobs } from './read-blobs.ts';
import { wholeLines } from './repository-rules.ts';
import { gitArguments, shadowEnvironment } from './shadow.ts';
import { nameTree, requireSnapshotId } from './snapshot-ids.ts';
import { judgeAbsence, parseNotes, type SnapshotNotes, type UncapturedWhy } from './snapshot-notes.ts';

const NOTES = ['modes', 'omitted', 'rules'] as const;

/** Rejects with what git said. */
export async function readNotes(reading: ShadowReading, snapshot: string): Promise<SnapshotNotes> {
  requireSnapshotId(snapshot);
  const ids = await listBlobs(reading, snapshot, []);
  const texts = await readTexts(reading, new Map(NOTES.flatMap((name) => ids.get(name) ?? []).map((id) => [id, id])));
  const textOf = (name: (typeof NOTES)[number]): string => texts.get(ids.get(name) ?? '') ?? '';
  return parseNotes({ modes: textOf('modes'), omitted: textOf('omitted'), rules: textOf('rules') });
}

/**
 * Returns a judge of `paths`, none of which the snapshot has: why one may have been there when it
 * was taken, null where nothing was.
 */
export async function createAbsenceJudge(
  reading: ShadowReading,
  snapshot: string,
  paths: readonly RawPath[],
): Promise<(path: RawPath) => UncapturedWhy | null> {
  const notes = await readNotes(reading, snapshot);
  const folders = new Set(['', ...paths.flatMap(foldersOf).map((folder) => `${folder}/`)]);
  const ids = await listBlobs(reading, nameTree(snapshot, 'files'), ['-r']);
  const named = [...folders].flatMap((folder) => {
    const id = ids.get(`${folder}${IGNORE_FILE}`);
    return id === undefined ? [] : [[folder, id] as const];
  });
  const texts = await readTexts(reading, new Map(named));
  return judgeAbsence(notes, (folder) => {
    const text = texts.get(folder);
    return text === undefined ? undefined : wholeLines(text);
  });
}

const IGNORE_FILE = '.gitignore';

/** Returns the ids of the files of a tree, but for links. */
async function listBlobs(
  { gitDir, git, run }: ShadowReading,
  tree: string,
  how: readonly string[],
): Promise<ReadonlyMap<RawPath, string>> {
  const args = gitArguments(git, { gitDir }, ['ls-tree', '-z', '--full-tree', ...how, '--end-of-options', tree]);
  const lines = namesIn(await run(args, { env: shadowEnvironment(), cwd: gitDir }));
  return new Map(
    lines.flatMap((line) => {
      const [, id = '', path = ''] = /^100\d{3} blob ([0-9a-f]{40})\t(.*)$/s.exec(line) ?? [];
      return path === '' ? [] : [[path, id] as const];
    }),
  );
}

/** Returns the texts of blobs, as latin1, by the names given to them. */
async function readTexts(
  reading: ShadowReading,
  ids: ReadonlyMap<string, string>,
): Promise<ReadonlyMap<string, string>> {
  const texts = new Map<string, string>();
  for await (const [id, content] of readBlobs(reading, [...new Set(ids.values())]))
    texts.set(id, content.toString('latin1'));
  return new Map([...ids].map(([name, id]) => [name, texts.get(id) ?? '']));
}
