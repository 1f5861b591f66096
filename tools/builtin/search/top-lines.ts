// Keeps the first few of many lines in order, in bounded memory, and counts them all.

type TopLines = {
  add(line: string): void;
  count(): number;
  /** Sorted by code unit. */
  first(): readonly string[];
};

export function keepTopLines(most: number): TopLines {
  let kept: string[] = [];
  let count = 0;
  const first = (): readonly string[] => {
    kept = kept.sort().slice(0, most);
    return kept;
  };
  return {
    add(line) {
      kept.push(line);
      count++;
      if (kept.length >= 4 * most + 1_000) first();
    },
    count: () => count,
    first,
  };
}
