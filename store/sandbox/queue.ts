// Queues of self-hosted environments (G76). Each is a log in the store, so servers and workers see
// one order, and exactly one of those who try gets an item.
import { randomName } from '../../system/random-name.ts';
import { ResourceLog, type Resources } from '../values/resource-log.ts';
import type { Store } from '../values/store.ts';

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

// A work item: one session of a self-hosted environment that needs a worker, and the lease of the
// worker that has it (G76, G77). Pure: each change takes an item and returns the next one, or the
// reason why it may not be.
/** Times in milliseconds since the epoch. */
export type WorkItem = {
  readonly session: string;
  readonly createdAt: number;
  /** It is handed out from then on. */
  readonly from: number;
  /** Items of the session in a row whose worker left calls open; 0 for the first. */
  readonly repeats: number;
  /** Items of the session in a row before it whose worker sent no heartbeat; absent for none. */
  readonly silent?: number;
  readonly metadata: Readonly<Record<string, string>>;
  readonly lease?: Lease;
  readonly stopRequestedAt?: number;
  readonly stoppedAt?: number;
};

export type Lease = {
  /** Counts the workers that the item was handed to, from 1. */
  readonly g: number;
  readonly polledAt: number;
  /** The name that the worker gave itself. */
  readonly worker?: string;
  readonly ackedAt?: number;
  /** The digits that the holder's heartbeats carry, from the first one on. */
  readonly holder?: string;
  readonly startedAt?: number;
  /** The newest stream of its worker: older ones show no more calls. */
  readonly stream?: string;
  /** Heartbeats stopped coming. Results are taken until the item is stopped. */
  readonly lapsedAt?: number;
};

type ItemState = 'queued' | 'starting' | 'active' | 'stopping' | 'stopped';

/** `superseded`: another worker has the item, or will. */
export type Refusal = 'superseded' | 'stopped' | 'lapsed' | 'held';

export function stateOfItem({ lease, stopRequestedAt, stoppedAt }: WorkItem): ItemState {
  if (stoppedAt !== undefined) return 'stopped';
  if (stopRequestedAt !== undefined) return 'stopping';
  if (lease?.startedAt !== undefined) return 'active';
  return lease?.ackedAt === undefined ? 'queued' : 'starting';
}

/** Was handed to a worker that has not acknowledged it. */
export const isPending = (item: WorkItem): boolean => stateOfItem(item) === 'queued' && item.lease !== undefined;

export const isQueued = (item: WorkItem): boolean => stateOfItem(item) === 'queued' && item.lease === undefined;

/** `reclaimMs`: how long a worker may take to acknowledge. */
export function isClaimable(item: WorkItem, now: number, reclaimMs: number): boolean {
  if (isQueued(item)) return item.from <= now;
  return isPending(item) && item.lease!.polledAt + reclaimMs <= now;
}

export function claim(item: WorkItem, now: number, worker: string | undefined): WorkItem {
  const g = (item.lease?.g ?? 0) + 1;
  return { ...item, lease: { g, polledAt: now, ...(worker !== undefined && { worker }) } };
}

/** A repeat changes nothing. */
export function acknowledge(item: WorkItem, now: number): WorkItem | Refusal {
  const { lease } = item;
  if (item.stoppedAt !== undefined) return 'stopped';
  if (lease === undefined) return 'superseded';
  return lease.ackedAt === undefined ? { ...item, lease: { ...lease, ackedAt: now } } : item;
}

/** The first heartbeat takes the lease for `holder`: of all that try, one wins. */
export function takeLease(item: WorkItem, g: number, now: number, holder: string): WorkItem | Refusal {
  const refusal = refuseLease(item, g);
  if (refusal) return refusal;
  const lease = item.lease!;
  if (lease.holder !== undefined) return 'held';
  return { ...item, lease: { ...lease, ackedAt: lease.ackedAt ?? now, holder, startedAt: now } };
}

/** Records the stream that the worker of generation `g` listens to. */
export const recordStream = (item: WorkItem, g: number, stream: string): WorkItem | Refusal =>
  refuseLease(item, g) ?? { ...item, lease: { ...item.lease!, stream } };

/** Tells why a lease counts no longer; null while it does. */
export function refuseLease({ lease, stoppedAt }: WorkItem, g: number): Refusal | null {
  if (lease?.g !== g) return 'superseded';
  if (stoppedAt !== undefined) return 'stopped';
  return lease.lapsedAt === undefined ? null : 'lapsed';
}

export function requestStop(item: WorkItem, now: number): WorkItem | Refusal {
  if (item.stoppedAt !== undefined) return 'stopped';
  return item.stopRequestedAt === undefined ? { ...item, stopRequestedAt: now } : item;
}

export function stop(item: WorkItem, now: number): WorkItem | Refusal {
  return item.stoppedAt === undefined ? { ...item, stoppedAt: now } : 'stopped';
}

/** The lease of generation `g` has had no heartbeat in its time. A repeat changes nothing. */
export function lapse(item: WorkItem, g: number, now: number): WorkItem | Refusal {
  const refusal = refuseLease(item, g);
  if (refusal === 'lapsed') return item;
  return refusal ?? { ...item, lease: { ...item.lease!, lapsedAt: now } };
}

/** Milliseconds for which a lease must have lasted, for the next item to be the first of a row. */
const SERVED_MS = 60_000;
const LONGEST_PAUSE_MS = 60_000;

/** Makes the item that follows one whose worker left calls open: after 0, 1, 2, 4 … 60 s. */
export function itemAfter(last: WorkItem, now: number): WorkItem {
  const { startedAt = Infinity } = last.lease ?? {};
  const repeats = now - startedAt >= SERVED_MS ? 1 : last.repeats + 1;
  const pause = repeats === 1 ? 0 : Math.min(LONGEST_PAUSE_MS, 1_000 * 2 ** (repeats - 2));
  const silent = silentAfter(last);
  return { ...newItem(last.session, now), from: now + pause, repeats, ...(silent > 0 && { silent }) };
}

/** Counts the items in a row whose worker sent no heartbeat, this one included (G78). */
export const silentAfter = ({ lease, silent = 0 }: WorkItem): number =>
  lease?.startedAt === undefined ? silent + 1 : 0;

export const newItem = (session: string, now: number): WorkItem => ({
  session,
  createdAt: now,
  from: now,
  repeats: 0,
  metadata: {},
});
