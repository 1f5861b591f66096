// Keeps the first few of many lines in order, in bounded memory, and counts them all.

type TopLines = {
  add(line: string): void;
  count(): number;
  /** Sorted by code unit. */
  first(): readonly string[];
};

export function keepTopLines(most: number): TopLines {
  let top: string[] = [];
  let count = 0;
  const first = (): readonly string[] => {
    top = top.sort().slice(0, most);
    return top;
  };
  return {
    add(line) {
      top.push(line);
      count++;
      if (top.length >= 4 * most + 1_000) first();
    },
    count: () => count,
    first,
  };
}
