// Repeatable random numbers: the same seed gives the same world, and a test that fails prints its
// seed.

export type Random = {
  /** From 0 to `most`, both included. */
  nat(most: number): number;
  bool(): boolean;
  pick<T>(values: readonly [T, ...T[]]): T;
  /** One of `choices`, each as likely as its weight. */
  weighted<T>(choices: readonly (readonly [weight: number, make: () => T])[]): T;
};

/** Mulberry32. */
export function random(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const nat = (most: number): number => Math.floor(next() * (most + 1));
  return {
    nat,
    bool: () => next() < 0.5,
    pick: (values) => values[nat(values.length - 1)] ?? values[0],
    weighted: (choices) => {
      let at = next() * choices.reduce((sum, [weight]) => sum + weight, 0);
      const found = choices.find(([weight]) => (at -= weight) < 0) ?? choices[0];
      if (!found) throw new Error('nothing to choose from');
      return found[1]();
    },
  };
}
