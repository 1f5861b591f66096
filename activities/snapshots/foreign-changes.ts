// Finds what others have changed in a folder while a rewind goes on. Where no file may take the
// place of another, one that a rewind was killed at has the beginning of its content.
import { listHeldPairs, readHeld, type HeldFile, type ShadowReading } from '../../store/snapshots/compare.ts';
import type { RawPath } from '../../store/snapshots/listing.ts';

/** A rewind from the snapshot `begun` to the snapshot `to`; `now` is the folder as it is. */
export type Underway = { readonly begun: string; readonly now: string; readonly to: string };

/**
 * Returns the files that are neither as in `begun` nor as in `to`, nor on the way between. One that
 * both have, and that is missing, someone else has deleted: a rewind replaces it.
 */
export async function findForeignChanges(
  reading: ShadowReading,
  { begun, now, to }: Underway,
): Promise<ReadonlySet<RawPath>> {
  const found = new Set<RawPath>();
  if (begun === now || now === to) return found;
  const sinceBegun = await listHeldPairs(reading, { from: begun, to: now, paths: [] });
  const left = new Map((await listHeldPairs(reading, { from: now, to, paths: [] })).map((pair) => [pair.path, pair]));
  for (const { path, from, to: held } of sinceBegun) {
    const pair = left.get(path);
    if (pair === undefined) continue;
    if (held === null || !(await isBeginning(reading, held, [from, pair.to]))) found.add(path);
  }
  return found;
}

/** Tells whether a file has the beginning of another one, or all of it. */
async function isBeginning(
  reading: ShadowReading,
  file: HeldFile,
  others: readonly (HeldFile | null)[],
): Promise<boolean> {
  const bytes = await readHeld(reading, file);
  for (const other of others)
    if (other !== null && (await readHeld(reading, other)).subarray(0, bytes.length).equals(bytes)) return true;
  return false;
}
