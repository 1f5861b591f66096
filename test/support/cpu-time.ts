// What something costs, whatever else the machine does: the time of a test's own process on the
// processors.

/**
 * Milliseconds that this process works until it is done. Nothing else of the process may run
 * meanwhile.
 */
export async function cpuTime(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}
