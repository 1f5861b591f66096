// Tells which snapshots hold the files that belong to a conversation up to a position (T8, T10).
import type { Entry } from '../../../store/log/entries.ts';
import { lastSnapshots, snapshotsAt, type SnapshotsAt } from '../../../store/snapshots/snapshot-points.ts';

/**
 * Returns the snapshots of the files before the entry at a position. A step that begins with
 * outcomes of calls has captured what they left, so before it is before them.
 */
export function snapshotsBefore(entries: readonly Entry[], position: number): SnapshotsAt {
  const entry = entries[position];
  // Calls that started while the reply streamed have no effects, and no key.
  const isAfterCalls = entry?.kind === 'outcomes' && entry.outcomes.some(({ log }) => log.key !== null);
  return isAfterCalls ? lastSnapshots(entries.slice(0, position)) : snapshotsAt({ entries, first: 0 }, position);
}
