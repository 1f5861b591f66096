// Who steered the session and how, until the next step that stores something takes it into the transcript (O12). A flood of signals must
// not make the session larger: of many between two steps the newest are kept, and the oldest of those says how many it stands after.
import type { Append } from '../contract/activities.ts';
import { type Deed, type Signed, signedBy, type Steered } from '../contract/steered.ts';

const MOST_HELD = 20;
/** Milliseconds after which a cancel is not that of whoever said that one comes: theirs never came. */
const ANNOUNCED_FOR = 60_000;

export class SteeredLog {
  private held: readonly Steered[];
  /** Of whoever is about to cancel the session: Temporal's own cancel says nothing to it. */
  private canceller: (Signed & { readonly since: number }) | null = null;
  private isCancelled = false;

  constructor(carried: readonly Steered[] = []) {
    this.held = carried;
  }

  /** Not in the transcript yet, oldest first. */
  get open(): readonly Steered[] {
    return this.held;
  }

  note(deed: Deed, signed: unknown): void {
    const all = [...this.held, { ...deed, at: Date.now(), ...signedBy(signed) }];
    const gone = all.slice(0, -MOST_HELD).reduce((sum, { earlier = 0 }) => sum + 1 + earlier, 0);
    const kept = all.slice(-MOST_HELD);
    this.held = gone === 0 ? kept : kept.map((one, at) => (at === 0 ? { ...one, earlier: gone } : one));
  }

  /** The cancel itself comes after, if it comes. One that comes after another changes nothing. */
  announceCancel(signed: unknown): void {
    if (!this.isCancelled) this.canceller = { ...signedBy(signed), since: Date.now() };
  }

  /** The session is to end: what runs is stopped first. */
  cancelled(): void {
    this.isCancelled = true;
    if (this.canceller && Date.now() - this.canceller.since > ANNOUNCED_FOR) this.canceller = null;
  }

  /** An agent is cancelled with the run that began it, by nobody. */
  noteCancel(isAgent: boolean): void {
    if (this.canceller !== null || !isAgent) this.note({ action: 'cancel' }, this.canceller);
  }

  take(): readonly Append[] {
    const taken = this.held.map((steered) => ({ kind: 'steered', steered }) as const);
    this.held = [];
    return taken;
  }
}
