// How the cost of some work grows with the size of its input, in processor time: whatever else the
// machine does.

/** Milliseconds of processor time. */
function measureCost(work: () => unknown): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

/**
 * How many times as much 4 n costs as n / 4, at the least of some tries: 16 where it is linear, 256
 * where it is quadratic. What costs next to nothing counts as linear.
 */
export function measureGrowth(work: (n: number) => unknown, n: number): number {
  const least = (size: number): number => Math.min(...Array.from({ length: 5 }, () => measureCost(() => work(size))));
  const [small, large] = [least(Math.ceil(n / 4)), least(4 * n)];
  return large < 20 ? 1 : large / Math.max(small, 1);
}

/**
 * Between the two, with as much room for a machine that is busy as for a cost that grows a little
 * faster.
 */
export const QUADRATIC = 100;
