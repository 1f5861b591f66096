// Work items in the API (G76–G78): poll, ack, heartbeat, stop and the rest.
import { randomInt } from 'node:crypto';
import type {
  BetaSelfHostedWork,
  BetaSelfHostedWorkHeartbeatResponse,
  BetaSelfHostedWorkQueueStats,
} from '@anthropic-ai/sdk/resources/beta/environments';
import type { Refusal, WorkItem, WorkQueue } from '../../client/faces/types.ts';
import {
  acknowledge,
  isPending,
  isQueued,
  refuseLease,
  requestStop,
  stateOfItem,
  stop,
  takeLease,
  type WorkQueues,
} from '../../client/faces/work-items.ts';
import { pause } from '../../system/async.ts';
import { conflict, ManagedError, notFound } from '../errors.ts';
import { formatTime } from '../ids.ts';
import { patchMetadata } from '../shapes/parse.ts';
import type { SessionLease } from './credentials.ts';
import type { Leases } from './leases.ts';

/** An item with its id and the environment that it belongs to. */
export type FoundItem = { readonly id: string; readonly environment: string; readonly item: WorkItem };

type WorkPorts = {
  readonly queues: WorkQueues;
  readonly leases: Leases;
  readonly now: () => number;
  readonly leaseMs: number;
  /** Tells whether a session is over and needs no more workers. */
  readonly isOver: (session: string) => Promise<boolean>;
};

type Stopping = { readonly force: boolean; readonly isDispatcher: boolean; readonly g: number | undefined };

const RECLAIM_MS = 5_000;
/** Milliseconds between looks while a poll waits, and for which polls share one. */
const LOOK_MS = 200;
const LOOK_AGE_MS = 150;
/** Milliseconds after which a worker that has not polled again is not counted. */
const POLLING_MS = 30_000;
const NO_HEARTBEAT = 'NO_HEARTBEAT';

export class Work {
  readonly #ports: WorkPorts;
  /** When each worker of an environment polled here last. */
  readonly #polling = new Map<string, Map<string, number>>();

  constructor(ports: WorkPorts) {
    this.#ports = ports;
  }

  #queue(environment: string): WorkQueue {
    return this.#ports.queues.of(environment);
  }

  /** Hands the oldest item out; null when none came in `blockMs`. */
  async poll(
    environment: string,
    request: { readonly worker: string | undefined; readonly blockMs: number; readonly reclaimMs: number | undefined },
    closing: AbortSignal,
  ): Promise<FoundItem | null> {
    const { worker, blockMs, reclaimMs = RECLAIM_MS } = request;
    this.#notePoll(environment, worker);
    const until = performance.now() + blockMs;
    for (let maxAgeMs = 0; ; maxAgeMs = LOOK_AGE_MS) {
      const claimed = await this.#queue(environment).claim({ worker, reclaimMs, maxAgeMs });
      if (claimed && !(await this.#ports.isOver(claimed.item.session))) return { ...claimed, environment };
      if (claimed) await this.#queue(environment).change(claimed.id, 'perdure', stop);
      else if (performance.now() >= until || !(await pause(LOOK_MS, closing))) return null;
    }
  }

  #notePoll(environment: string, worker: string | undefined): void {
    if (worker === undefined) return;
    const workers = this.#polling.get(environment) ?? new Map<string, number>();
    this.#polling.set(environment, workers.set(worker, this.#ports.now()));
    for (const [name, at] of workers) if (this.#ports.now() - at > POLLING_MS) workers.delete(name);
  }

  /**
   * The lease is watched before it is acknowledged. `g`: the generation of the token that asks;
   * undefined for others. Throws ManagedError 404, 409.
   */
  async ack(environment: string, id: string, g: number | undefined): Promise<FoundItem> {
    const { item } = await this.#findOf(environment, id, g);
    if (item.lease && item.stoppedAt === undefined) await this.#open({ environment, id, item });
    return this.#changed(environment, id, (newest, now) =>
      isOther(newest, g) ? 'superseded' : acknowledge(newest, now),
    );
  }

  /** A token acts for its own lease, never for the one of a later worker. */
  async #findOf(environment: string, id: string, g: number | undefined): Promise<FoundItem> {
    const found = await this.find(environment, id);
    if (isOther(found.item, g)) throw refusalOf(id, 'superseded');
    return found;
  }

  #open({ environment, id, item }: FoundItem): Promise<void> {
    const { leaseMs, leases } = this.#ports;
    const { session, lease } = item;
    return leases.open({ environment, session, work: id, g: lease?.g ?? 0, ttlMs: leaseMs, graceMs: leaseMs / 2 });
  }

  /**
   * Renews the lease of generation `g`. The first heartbeat takes it, and later ones must bring
   * what the one before was answered. `isRetry`: the same request may have taken effect before.
   * Throws ManagedError 404, 412.
   */
  async beat(
    { environment, work, g }: Omit<SessionLease, 'session'>,
    { expected, isRetry }: { readonly expected: string | undefined; readonly isRetry: boolean },
  ): Promise<BetaSelfHostedWorkHeartbeatResponse> {
    const { item } = await this.#findEnding(environment, work);
    const isEnding = item.stoppedAt !== undefined || item.stopRequestedAt !== undefined;
    if (isEnding && item.lease?.g === g) return this.#endingBeat(work, item);
    const isFirst = expected === NO_HEARTBEAT;
    const isRepeated = isFirst && isRetry && item.lease?.holder !== undefined;
    if (isFirst && !isRepeated) return this.#firstBeat({ environment, work, g });
    const refusal = refuseLease(item, g) ?? (isRepeated || isHolder(item, expected) ? null : 'held');
    if (refusal || !(await this.#ports.leases.beat({ work, g }))) throw this.#lost(item);
    return this.#answer(item, true);
  }

  /** The item of a session that is over is asked to stop. */
  async #findEnding(environment: string, work: string): Promise<FoundItem> {
    const found = await this.find(environment, work);
    const { stoppedAt, stopRequestedAt, session } = found.item;
    if (stoppedAt !== undefined || stopRequestedAt !== undefined) return found;
    return (await this.#ports.isOver(session)) ? this.#changed(environment, work, requestStop) : found;
  }

  async #firstBeat({
    environment,
    work,
    g,
  }: Omit<SessionLease, 'session'>): Promise<BetaSelfHostedWorkHeartbeatResponse> {
    const holder = String(randomInt(10 ** HOLDER_DIGITS)).padStart(HOLDER_DIGITS, '0');
    const found = await this.find(environment, work);
    const refusal = refuseLease(found.item, g);
    if (refusal) throw this.#lost(found.item);
    await this.#open(found);
    if (!(await this.#ports.leases.beat({ work, g }))) throw this.#lost(found.item);
    const renewed = await this.#queue(environment).change(work, `work ${work}`, (item, now) =>
      takeLease(item, g, now, holder),
    );
    if (renewed === null || typeof renewed === 'string') throw this.#lost((await this.find(environment, work)).item);
    return this.#answer(renewed, true);
  }

  /** A worker that is asked to stop keeps its lease until it has left. */
  async #endingBeat(work: string, item: WorkItem): Promise<BetaSelfHostedWorkHeartbeatResponse> {
    const isHeld = item.stoppedAt === undefined && (await this.#ports.leases.beat({ work, g: item.lease!.g }));
    return this.#answer(item, isHeld);
  }

  #answer(item: WorkItem, isExtended: boolean): BetaSelfHostedWorkHeartbeatResponse {
    return {
      type: 'work_heartbeat',
      last_heartbeat: heartbeatOf(this.#ports.now(), item.lease?.holder),
      lease_extended: isExtended,
      state: stateOfItem(item),
      ttl_seconds: this.#ports.leaseMs / 1_000,
    };
  }

  #lost(item: WorkItem): ManagedError {
    const current_state = {
      last_heartbeat: item.lease?.startedAt === undefined ? null : formatTime(item.lease.startedAt),
      lease_extended: false,
      state: stateOfItem(item),
      ttl_seconds: this.#ports.leaseMs / 1_000,
    };
    const details = { error_code: 'heartbeat_precondition_failed', current_state };
    return new ManagedError(412, 'The lease on this work item is another worker’s, or has lapsed', details);
  }

  /**
   * Without `force`, the worker hears of it by its next heartbeat. A dispatcher that asks for that
   * has handed an acknowledged item over, and nothing changes (G78). `g`: as in `ack`. Throws
   * ManagedError 404, 409.
   */
  async stop(environment: string, id: string, stopping: Stopping): Promise<FoundItem> {
    const { force, isDispatcher, g } = stopping;
    const found = await this.#findOf(environment, id, g);
    if (force || found.item.lease?.ackedAt === undefined) return this.#end(found, stopping);
    if (isDispatcher) return found;
    return this.#changed(environment, id, (item, now) => (isOther(item, g) ? 'superseded' : requestStop(item, now)));
  }

  /**
   * Opens the lease's watch before it stops the item: the watch finds the open calls, even where no
   * worker has begun. If the server is killed in between, a repeat ends the watch.
   */
  async #end(found: FoundItem, stopping: Stopping): Promise<FoundItem> {
    const { environment, id, item } = found;
    const g = item.lease?.g ?? 0;
    await this.#open(found);
    const end = await this.#queue(environment).change(id, `work ${id}`, (newest, now) =>
      (newest.lease?.g ?? 0) === g ? stop(newest, now) : 'superseded',
    );
    if (end === 'superseded') return this.stop(environment, id, stopping);
    await this.#ports.leases.end({ work: id, g });
    return requireItem(environment, id, end);
  }

  update(environment: string, id: string, patch: Readonly<Record<string, string | null>>): Promise<FoundItem> {
    return this.#changed(environment, id, (item) => ({ ...item, metadata: patchMetadata(item.metadata, patch) }));
  }

  /** Throws ManagedError 404. */
  async find(environment: string, id: string): Promise<FoundItem> {
    const item = (await this.#queue(environment).items()).get(id);
    if (!item) throw notFound('Work item', id);
    return { id, environment, item };
  }

  /** Lists the items of an environment that are remembered, newest first. */
  async list(environment: string): Promise<readonly FoundItem[]> {
    const items = [...(await this.#queue(environment).items())].toReversed();
    return items.map(([id, item]) => ({ id, environment, item }));
  }

  async stats(environment: string): Promise<BetaSelfHostedWorkQueueStats> {
    const items = [...(await this.#queue(environment).items()).values()];
    const queued = items.filter((item) => isQueued(item) || isPending(item));
    const now = this.#ports.now();
    const polls = [...(this.#polling.get(environment)?.values() ?? [])];
    return {
      type: 'work_queue_stats',
      depth: queued.filter(isQueued).length,
      pending: queued.filter(isPending).length,
      oldest_queued_at: queued[0] ? formatTime(queued[0].createdAt) : null,
      workers_polling: polls.filter((at) => now - at <= POLLING_MS).length,
    };
  }

  /** `secret` is only in what a poll answers. */
  async show({ id, environment, item }: FoundItem, secret: string | null = null): Promise<BetaSelfHostedWork> {
    const { lease, session } = item;
    const isLive = lease?.startedAt !== undefined && item.stoppedAt === undefined;
    const beat = isLive ? await this.#ports.leases.lastBeat({ work: id, g: lease.g }) : null;
    const timeOf = (ms: number | null | undefined): string | null =>
      ms === null || ms === undefined ? null : formatTime(ms);
    return {
      id,
      type: 'work',
      acknowledged_at: timeOf(lease?.ackedAt),
      created_at: formatTime(item.createdAt),
      data: { type: 'session', id: session },
      environment_id: environment,
      latest_heartbeat_at: timeOf(beat ?? lease?.startedAt),
      metadata: { ...item.metadata },
      secret,
      started_at: timeOf(lease?.startedAt),
      state: stateOfItem(item),
      stop_requested_at: timeOf(item.stopRequestedAt),
      stopped_at: timeOf(item.stoppedAt),
    };
  }

  async #changed(
    environment: string,
    id: string,
    change: (item: WorkItem, now: number) => WorkItem | Refusal,
  ): Promise<FoundItem> {
    return requireItem(environment, id, await this.#queue(environment).change(id, `work ${id}`, change));
  }
}

function requireItem(environment: string, id: string, item: WorkItem | Refusal | null): FoundItem {
  if (item === null) throw notFound('Work item', id);
  if (typeof item === 'string') throw refusalOf(id, item);
  return { id, environment, item };
}

const refusalOf = (id: string, why: Refusal): ManagedError => conflict(`work_${why}`, `work item ${id} is ${why}`);

const isOther = ({ lease }: WorkItem, g: number | undefined): boolean => g !== undefined && lease?.g !== g;

const HOLDER_DIGITS = 6;

/** A time with nine digits, the last six of which are the holder's. */
function heartbeatOf(now: number, holder: string = '0'.repeat(HOLDER_DIGITS)): string {
  return formatTime(now).replace('Z', `${holder}Z`);
}

/** An answer may be lost, and the SDK then brings the one before it: only the digits count. */
const isHolder = ({ lease }: WorkItem, expected: string | undefined): boolean =>
  lease?.holder !== undefined && expected?.endsWith(`${lease.holder}Z`) === true;
