// Who steered the session and how, until the next step that stores something takes it into the
// transcript (O12). A flood of signals must not make the session larger: of many between two steps
// the newest are kept, and the oldest of those says how many it stands after.
import type { Append } from '../contract/activities.ts';
import { AskedOnce } from './asked-once.ts';
import { type Announced, type Deed, signedBy, type Steered } from '../contract/steered.ts';

const MOST_HELD = 20;
/**
 * Milliseconds after which a cancel is not that of whoever said that one comes: theirs never came.
 */
const ANNOUNCED_FOR = 60_000;

export class SteeredLog {
  private held: readonly Steered[];
  private canceller: Announced | null;
  private cancelledAt: number | null = null;
  /** The session takes nothing any more: what is done now would be told to nobody. */
  private closes = false;

  constructor(
    carried: readonly Steered[] = [],
    canceller: Announced | null = null,
    /** What was asked for by updates. */
    readonly once: AskedOnce = new AskedOnce(false),
  ) {
    this.held = carried;
    this.canceller = canceller;
  }

  get announced(): Announced | null {
    return this.canceller;
  }

  get isClosing(): boolean {
    return this.closes;
  }

  /** Not in the transcript yet, oldest first. */
  get open(): readonly Steered[] {
    return this.held;
  }

  note(deed: Deed, signed: unknown, at = Date.now()): void {
    const all = [...this.held, { ...deed, at, ...signedBy(signed) }];
    const gone = all.slice(0, -MOST_HELD).reduce((sum, { earlier = 0 }) => sum + 1 + earlier, 0);
    const kept = all.slice(-MOST_HELD);
    this.held = gone === 0 ? kept : kept.map((one, nth) => (nth === 0 ? { ...one, earlier: gone } : one));
  }

  /** The cancel itself comes after, if it comes. One that comes after another changes nothing. */
  announceCancel(signed: unknown): void {
    if (this.cancelledAt === null) this.canceller = { ...signedBy(signed), since: Date.now() };
  }

  /** The session is to end: what runs is stopped first. */
  cancelled(): void {
    this.cancelledAt = Date.now();
    if (this.canceller && this.cancelledAt - this.canceller.since > ANNOUNCED_FOR) this.canceller = null;
  }

  /**
   * `isCancelled`: told as of when it was asked for. An agent is cancelled with the run that began
   * it, by nobody.
   */
  close({ isCancelled, isAgent }: { readonly isCancelled: boolean; readonly isAgent: boolean }): void {
    this.closes = true;
    if (isCancelled && (this.canceller !== null || !isAgent))
      this.note({ action: 'cancel' }, this.canceller, this.cancelledAt ?? undefined);
  }

  take(): readonly Append[] {
    const taken = this.held.map((steered) => ({ kind: 'steered', steered }) as const);
    this.held = [];
    return taken;
  }
}
