// Queues of self-hosted environments (G76). Each is a log in the store, so servers and workers see
// one order, and exactly one of those who try gets an item.
import { randomName } from '../../system/random-name.ts';
import { ResourceLog, type Resources } from '../values/resource-log.ts';
import type { Store } from '../values/store.ts';
import { claim, isClaimable, itemAfter, newItem, type Refusal, type WorkItem } from './item.ts';

/** Stopped items that are remembered of an environment, the newest. */
const MOST_STOPPED = 1_000;

type QueuePorts = {
  readonly store: Store;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
};

type Claiming = {
  /** The name that the worker gives itself. */
  readonly worker: string | undefined;
  /** Milliseconds that a worker may take to acknowledge an item. */
  readonly reclaimMs: number;
  /** Milliseconds for which the look before is good enough; absent: it looks anew. */
  readonly maxAgeMs?: number;
};

export class WorkQueue {
  readonly #log: ResourceLog<WorkItem>;
  readonly #now: () => number;

  constructor({ store, now }: QueuePorts, environment: string) {
    this.#log = new ResourceLog({ store, now, name: `work-${environment}`, forget: forgetStopped });
    this.#now = now;
  }

  /** Returns the items, oldest first. Throws StoreError, as all methods do. */
  items(maxAgeMs = 0): Promise<Resources<WorkItem>> {
    return this.#log.read(maxAgeMs);
  }

  /** Queues an item for the session, unless it has one that is not stopped. */
  ensure(session: string, by: string): Promise<void> {
    return this.#log.append(by, (all) =>
      itemOf(all, session) ? null : { id: newWorkId(), item: newItem(session, this.#now()) },
    );
  }

  /** Queues an item after one whose worker left calls open, as `ensure` does. */
  ensureAfter(last: WorkItem, by: string): Promise<void> {
    return this.#log.append(by, (all) =>
      itemOf(all, last.session) ? null : { id: newWorkId(), item: itemAfter(last, this.#now()) },
    );
  }

  /** Hands the oldest item out to a worker; null where none waits. */
  async claim({
    worker,
    reclaimMs,
    maxAgeMs,
  }: Claiming): Promise<{ readonly id: string; readonly item: WorkItem } | null> {
    const now = this.#now();
    const isFree = ([, item]: readonly [string, WorkItem]): boolean => isClaimable(item, now, reclaimMs);
    if (![...(await this.items(maxAgeMs))].some(isFree)) return null;
    let claimed: { readonly id: string; readonly item: WorkItem } | null = null;
    await this.#log.append(worker ?? 'a worker', (all) => {
      const found = [...all].find(isFree);
      claimed = found ? { id: found[0], item: claim(found[1], now, worker) } : null;
      return claimed;
    });
    return claimed;
  }

  /** Returns the changed item, the reason why it may not be changed, or null for an unknown one. */
  async change(
    id: string,
    by: string,
    change: (item: WorkItem, now: number) => WorkItem | Refusal,
  ): Promise<WorkItem | Refusal | null> {
    let end: WorkItem | Refusal | null = null;
    await this.#log.append(by, (all) => {
      const item = all.get(id);
      end = item ? change(item, this.#now()) : null;
      return end === null || typeof end === 'string' || end === item ? null : { id, item: end };
    });
    return end;
  }
}

/** The queues of all environments, each with what it has read. */
export class WorkQueues {
  readonly #ports: QueuePorts;
  readonly #queues = new Map<string, WorkQueue>();

  constructor(ports: QueuePorts) {
    this.#ports = ports;
  }

  of(environment: string): WorkQueue {
    const queue = this.#queues.get(environment) ?? new WorkQueue(this.#ports, environment);
    this.#queues.set(environment, queue);
    return queue;
  }
}

/** Returns the item of a session that is not stopped. */
export const itemOf = (all: Resources<WorkItem>, session: string): readonly [string, WorkItem] | undefined =>
  [...all].find(([, item]) => item.session === session && item.stoppedAt === undefined);

const newWorkId = (): string => `work_${randomName()}`;

function forgetStopped(all: Resources<WorkItem>): readonly string[] {
  if (all.size <= MOST_STOPPED) return [];
  const stopped = [...all].filter(([, { stoppedAt }]) => stoppedAt !== undefined).map(([id]) => id);
  return stopped.slice(0, Math.max(0, stopped.length - MOST_STOPPED));
}
