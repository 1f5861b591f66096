// What a number was at moments of the wall clock, and between them.
export type Sample = readonly [at: number, value: number];

/** In a straight line between two samples; before the first and after the last, as there. */
export function valueAt(samples: readonly Sample[], at: number): number {
  let [low, high] = [0, samples.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((samples[middle]?.[0] ?? 0) < at) low = middle + 1;
    else high = middle;
  }
  const [a, b] = [samples[low - 1], samples[low]];
  if (a === undefined || b === undefined) return (b ?? a)?.[1] ?? Number.NaN;
  return a[1] + ((b[1] - a[1]) * (at - a[0])) / (b[0] - a[0]);
}
