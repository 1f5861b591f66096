// Records who steered the session and how, until the next step that stores something takes it into
// the transcript (O12). A flood of signals must not make the session larger: between two steps the
// newest are kept, and the oldest of those says how many came before it.
import type { Append } from '../contract/activities.ts';
import { LONGEST_ID } from '../contract/session.ts';
import {
  isOnce,
  type OpenAction,
  type SessionLabels,
  signatureOf,
  type SteeringAction,
  type SteeringRecord,
} from '../contract/steered.ts';

const MOST_HELD = 20;
/**
 * Milliseconds for which an announced cancel is expected. A later one is not by the person who
 * announced it.
 */
const ANNOUNCED_FOR = 60_000;

export class SteeredLog {
  private held: readonly SteeringRecord[];
  private canceller: OpenAction | null;
  private cancelledAt: number | null = null;
  /** The session is closing: what is done now would not be told. */
  private closes = false;

  constructor(
    carried: readonly SteeringRecord[] = [],
    canceller: OpenAction | null = null,
    /** The updates that were taken. */
    readonly once: AskedOnce = new AskedOnce(false),
  ) {
    this.held = carried;
    this.canceller = canceller;
  }

  get announced(): OpenAction | null {
    return this.canceller;
  }

  get isClosing(): boolean {
    return this.closes;
  }

  /** Entries that are not in the transcript yet, oldest first. */
  get open(): readonly SteeringRecord[] {
    return this.held;
  }

  note(action: SteeringAction, signed: unknown, at = Date.now()): void {
    const all = [...this.held, { ...action, at, ...signatureOf(signed) }];
    const dropped = all.slice(0, -MOST_HELD).reduce((sum, { earlier = 0 }) => sum + 1 + earlier, 0);
    const newest = all.slice(-MOST_HELD);
    this.held = dropped === 0 ? newest : newest.map((one, nth) => (nth === 0 ? { ...one, earlier: dropped } : one));
  }

  /** Changes of labels that are not stored yet are one, so that a flood of them stays small. */
  relabel(labels: SessionLabels, signed: unknown): void {
    const last = this.held.findLast(({ action, earlier }) => action === 'relabel' && earlier === undefined);
    this.held = this.held.filter((one) => one !== last);
    this.note({ action: 'relabel', labels: { ...last?.labels, ...labels } }, signed);
  }

  /** Expects the cancel of this person. After a cancel it changes nothing. */
  announceCancel(signed: unknown): void {
    if (this.cancelledAt === null) this.canceller = { ...signatureOf(signed), since: Date.now() };
  }

  /** The session was cancelled, and is about to stop its run. */
  noteCancelled(): void {
    this.cancelledAt = Date.now();
    if (this.canceller && this.cancelledAt - this.canceller.since > ANNOUNCED_FOR) this.canceller = null;
  }

  /**
   * `isCancelled`: the cancel is told as of when it was asked for. The cancel of an agent has no
   * author, because its parent's run cancels it.
   */
  close({ isCancelled, isAgent }: { readonly isCancelled: boolean; readonly isAgent: boolean }): void {
    this.closes = true;
    if (isCancelled && (this.canceller !== null || !isAgent))
      this.note({ action: 'cancel' }, this.canceller, this.cancelledAt ?? undefined);
  }

  take(): readonly Append[] {
    const entries = this.held.map((steered) => ({ kind: 'steered', steered }) as const);
    this.held = [];
    return entries;
  }
}

// Remembers accepted updates: anyone who reaches the server can capture a sealed one and send it
// again, and it must not count twice.
/**
 * How many updates are remembered. One that is older than the newest forgotten one is refused, for
 * it may be that one.
 */
const REMEMBERED_UPDATES = 200;

/** `times`: when each id was asked for, by the client's clock. `since`: nothing older is taken. */
export type AskedOnceSnapshot = {
  readonly times: readonly (readonly [id: string, at: number])[];
  readonly since: number;
};

export class AskedOnce {
  private readonly times: Map<string, number>;
  private since: number;

  /** `sealed`: an update that is not sealed is refused. */
  constructor(
    private readonly sealed: boolean,
    { times, since }: AskedOnceSnapshot = { times: [], since: 0 },
  ) {
    this.times = new Map(times);
    this.since = since;
  }

  /** Returns a sentence that says why an update of this name is not taken; undefined when it is. */
  problem(name: string, request: unknown): string | undefined {
    if (!isOnce(request)) {
      return this.sealed
        ? 'this was asked by a client of another release, or sent again: nothing was changed; ask with the perdure that the worker is of'
        : undefined;
    }
    const { update, id, at } = request;
    if (update !== name || id.length > LONGEST_ID)
      return 'what was asked is not what it was sealed for: nothing was changed';
    if (this.times.has(id) || at <= this.since) return 'this was asked before, and counts once: nothing was changed';
    return undefined;
  }

  /** Remembers an update that was taken. */
  note(request: unknown): void {
    if (!isOnce(request)) return;
    this.times.set(request.id, request.at);
    if (this.times.size <= REMEMBERED_UPDATES) return;
    const [[oldest, at]] = [...this.times].toSorted((a, b) => a[1] - b[1]) as [[string, number]];
    this.times.delete(oldest);
    this.since = Math.max(this.since, at);
  }

  /** Returns null while there is nothing to remember. */
  snapshot(): AskedOnceSnapshot | null {
    return this.times.size === 0 ? null : { times: [...this.times], since: this.since };
  }
}
