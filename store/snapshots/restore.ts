// Brings a folder back to a snapshot (T7): exactly the files that differ are written or deleted.
// What no snapshot has, ignored files above all, is never touched. A second attempt continues where
// the first ended.
import { isFolder, type RawPath, showPath, type SnapshotChange } from './listing.ts';
import { RestoreProblem } from './preview-restore.ts';
import { barePath } from './snapshot-notes.ts';
import { clearLeft, type RestoreMeans, runRestore } from './restore/run-restore.ts';

type RestoreStretch = {
  /** The snapshot of what lies there. */
  readonly now: string;
  /** The last one that the session knows: of empty folders, those that it has may go. */
  readonly known: string;
  readonly to: string;
  /** Folders in it that go back by themselves. */
  readonly apart?: readonly RawPath[] | undefined;
  readonly changes: readonly SnapshotChange[];
};

/**
 * Writes and deletes `changes`, which lead to the snapshot `to`. Rejects with a sentence; with a
 * RestoreProblem where a file is in the way, and before anything is written, or where someone has
 * changed one since `now`, which stays as it is.
 */
export async function restore(
  means: RestoreMeans,
  { now, known, to, apart = [], changes }: RestoreStretch,
): Promise<void> {
  await clearLeft(means);
  const written = changes.filter(({ kind, path }) => kind !== 'deleted' && !isFolder(path)).map(({ path }) => path);
  const deleted = changes.filter(({ kind }) => kind === 'deleted').map(({ path }) => path);
  const permitted = changes.flatMap(({ path }) => (isFolder(path) ? [barePath(path)] : []));
  const answer = await runRestore(means, { to, from: now, known, apart, written, deleted, permitted });
  if (answer.kind === 'done') return;
  if (answer.kind === 'changed')
    throw new RestoreProblem(
      `${showPath(answer.path)} was changed while files went back, and stays: stop what writes to it, and try again`,
    );
  throw new RestoreProblem(`${showPath(answer.path)} is in the way, and no snapshot holds it: move it away first`);
}

/**
 * Writes a snapshot into a folder that is there, and has none of its files (T10). It gets the
 * permissions of the captured one.
 */
export async function checkOut(means: RestoreMeans, snapshot: string, folder: string): Promise<void> {
  const place = { ...means.place, root: folder };
  await runRestore(
    { ...means, place },
    { to: snapshot, from: null, known: null, apart: [], written: null, deleted: [], permitted: [''] },
  );
}
