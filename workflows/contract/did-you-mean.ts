// Suggests the known name nearest to an unknown one: an option or a rule that is silently ignored
// guards nothing.

/**
 * Returns the known name that differs in a letter or two, or only in case; undefined when none
 * does.
 */
export function nearName(unknownName: string, names: readonly string[]): string | undefined {
  // A longer name was not meant to be one of ours.
  if (unknownName.length > 64) return undefined;
  const low = unknownName.toLowerCase();
  const most = low.length <= 4 ? 1 : 2;
  const [best] = names
    .map((name) => ({ name, changes: changesBetween(low, name.toLowerCase()) }))
    .filter(({ changes }) => changes <= most)
    .sort((a, b) => a.changes - b.changes);
  return best?.name;
}

/** Returns the end of a sentence that has just named the unknown one. */
export function didYouMean(unknownName: string, names: readonly string[]): string {
  const near = nearName(unknownName, names);
  return near === undefined ? `use ${names.join(', ')}` : `did you mean ${near}?`;
}

/**
 * Counts letters to put in, take out or replace; two neighbours that changed places count as one.
 */
function changesBetween(a: string, b: string): number {
  let [last, row] = [[] as number[], Array.from({ length: b.length + 1 }, (_, at) => at)];
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const cost = Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + same);
      next.push(swapped ? Math.min(cost, (last[j - 2] ?? 0) + 1) : cost);
    }
    [last, row] = [row, next];
  }
  return row[b.length] ?? 0;
}
