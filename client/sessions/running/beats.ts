// Counts how often the steps of a run began or ended, by five minutes, for the column of a list
// that shows the last hour.

/** Milliseconds of a beat, and how many beats lists show. */
export const BEAT_MS = 5 * 60_000;
export const BEATS = 12;

/** Counts a step at `at`, in milliseconds since the epoch, and drops what no list shows. */
export function countBeat(beats: Map<number, number>, at: number): void {
  const beat = Math.floor(at / BEAT_MS);
  beats.set(beat, (beats.get(beat) ?? 0) + 1);
  for (const old of beats.keys()) if (old <= beat - BEATS) beats.delete(old);
}
