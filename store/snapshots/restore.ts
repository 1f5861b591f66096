// Brings a folder back to a snapshot (T7): exactly the files that differ are written or deleted.
// What no snapshot holds, ignored files above all, is never touched. Attempted again, it goes on.
import { showPath, type SnapshotChange } from './listing.ts';
import { RestoreProblem } from './preview-restore.ts';
import { clearLeft, type RestoreMeans, runRestore } from './restore/run-restore.ts';

/**
 * Writes and deletes `changes`, which lead to the snapshot `to`. Rejects with a sentence; with a
 * RestoreProblem nothing was written.
 */
export async function restore(means: RestoreMeans, to: string, changes: readonly SnapshotChange[]): Promise<void> {
  await clearLeft(means);
  const written = changes.filter(({ kind }) => kind !== 'deleted').map(({ path }) => path);
  const deleted = changes.filter(({ kind }) => kind === 'deleted').map(({ path }) => path);
  const answer = await runRestore(means, { to, written, deleted });
  if (answer.kind === 'done') return;
  throw new RestoreProblem(`${showPath(answer.path)} is in the way, and no snapshot holds it: move it away first`);
}

/** Writes a snapshot into a folder that is there, and has none of its files (T10). */
export async function checkOut(means: RestoreMeans, snapshot: string, folder: string): Promise<void> {
  const place = { ...means.place, root: folder };
  await runRestore({ ...means, place }, { to: snapshot, written: null, deleted: [] });
}
