// Like Promise.all, but nothing is still under way when it rejects: a descriptor is not closed under a running fsync.

export async function settle<T>(work: readonly Promise<T>[]): Promise<T[]> {
  const results = await Promise.allSettled(work);
  return results.map((result) => {
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  });
}
