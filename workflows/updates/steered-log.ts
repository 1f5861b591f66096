// Records who steered the session and how, until the next step that stores something takes it into
// the transcript (O12). A flood of signals must not make the session larger: between two steps the
// newest are kept, and the oldest of those says how many came before it.
import type { Append } from '../contract/activities.ts';
import { AskedOnce } from './asked-once.ts';
import {
  type OpenAction,
  type SessionLabels,
  type SteeringAction,
  signatureOf,
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
