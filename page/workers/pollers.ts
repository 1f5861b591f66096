// Asks the server who polls a queue.
import type { Client } from '@temporalio/client';
import { livePollers } from '../../connection/worker-polls.ts';

/** `seen`: when its last poll began, in milliseconds since the epoch. */
export type Poller = { readonly identity: string; readonly seen: number };

/** Returns the pollers of a queue, of both kinds, each once. */
export type ReadPollers = (queue: string) => Promise<readonly Poller[]>;

export async function readPollers(temporal: Client, taskQueue: string): Promise<readonly Poller[]> {
  const [workflows, activities] = await Promise.all([
    livePollers({ temporal, taskQueue }),
    livePollers({ temporal, taskQueue, of: 'activities' }),
  ]);
  const newest = new Map<string, number>();
  for (const { identity, seen: time } of [...workflows, ...activities])
    newest.set(identity, Math.max(time, newest.get(identity) ?? 0));
  return [...newest].map(([identity, time]) => ({ identity, seen: time }));
}
