// A work item: one session of a self-hosted environment that needs a worker, and that worker's
// lease (G76, G77). Pure: each change takes an item and returns the next one, or the reason for a
// refusal.

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

export function stateOf({ lease, stopRequestedAt, stoppedAt }: WorkItem): ItemState {
  if (stoppedAt !== undefined) return 'stopped';
  if (stopRequestedAt !== undefined) return 'stopping';
  if (lease?.startedAt !== undefined) return 'active';
  return lease?.ackedAt === undefined ? 'queued' : 'starting';
}

/** Was handed to a worker that has not acknowledged it. */
export const isPending = (item: WorkItem): boolean => stateOf(item) === 'queued' && item.lease !== undefined;

export const isWaiting = (item: WorkItem): boolean => stateOf(item) === 'queued' && item.lease === undefined;

/** `reclaimMs`: how long a worker may take to acknowledge. */
export function isClaimable(item: WorkItem, now: number, reclaimMs: number): boolean {
  if (isWaiting(item)) return item.from <= now;
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
