// Finds the snapshots with the files that belong to a conversation up to a position, and the first
// call whose effects no snapshot has yet (T8, T10).
import { type Entry, rewoundIn } from '../../../store/log/entries.ts';
import {
  entriesUpTo,
  isAfterCalls,
  lastSnapshots,
  type SnapshotsAt,
} from '../../../store/snapshots/snapshot-points.ts';
import { findChangingCall } from './calls-behind.ts';

/**
 * Returns the snapshots of the files before the entry at a position. A step that begins with
 * outcomes of calls has captured what they left, so before it is before them; before a rewind the
 * files were as the conversation before it tells.
 */
export const snapshotsBefore = (entries: readonly Entry[], position: number): SnapshotsAt =>
  lastSnapshots(entriesBefore(entries, position));

/** Returns the entries that tell of these snapshots. */
export function entriesBefore(entries: readonly Entry[], position: number): readonly Entry[] {
  const entry = entries[position];
  return isAfterCalls(entry) || rewoundIn(entry)
    ? entries.slice(0, position)
    : entriesUpTo({ entries, first: 0 }, position);
}

/**
 * Finds the first outcomes of the last reply of `shared` that may have changed files which no
 * snapshot before the entries of `rest` holds: their capture comes with the next reply, or at the
 * end of the run. Returns null without any.
 */
export function findUncapturedOutcome(shared: readonly Entry[], rest: readonly Entry[]): number | null {
  if (!isAfterCalls(rest[0]) && rest.some(({ kind }) => ['reply', 'files', 'run_ended'].includes(kind))) return null;
  const at = shared.findLastIndex(({ kind }) => ['reply', 'run_started', 'run_ended'].includes(kind));
  const reply = shared[at];
  if (reply?.kind !== 'reply') return null;
  const captured = shared.findLastIndex(({ kind }) => kind === 'files');
  const found = shared.findIndex(
    (entry, index) =>
      index > Math.max(at, captured) &&
      entry.kind === 'outcomes' &&
      entry.outcomes.some((outcome) => findChangingCall(reply, outcome) !== null),
  );
  return found < 0 ? null : found;
}
