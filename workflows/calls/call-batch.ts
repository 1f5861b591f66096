// Tracks the calls of a reply that run together: how many run, work or wait, and when the next may
// begin.
import { condition, isCancellation } from '@temporalio/workflow';
import type { Call, RunToolResult } from '../contract/activities.ts';
import type { OpenDelegation } from '../delegated/delegations.ts';
import { placeInName, type WaitingCall } from '../contract/waits.ts';
import type { RunContext } from '../run/run-context.ts';
import type { WaitingBatch } from '../session/waits.ts';

export class CallBatch implements WaitingBatch {
  readonly calls: readonly Call[];
  /** Open calls whose work goes on elsewhere: the runtime limit does not stand still for them. */
  readonly working = new Set<OpenDelegation>();
  private readonly context: RunContext;
  /** How many calls have no outcome, do not wait for a decision, and are not delegated. */
  private running: number;
  /** How many activities of the batch run now. */
  private active = 0;
  /** The activity that runs now tolerates no other. */
  private isExclusive = false;

  /** `calls`: a batch of which nothing has begun. */
  constructor(context: RunContext, calls: readonly Call[]) {
    this.context = context;
    this.calls = calls;
    this.running = calls.length;
  }

  /** Runs the batch; the run's clock and phase follow the agents of its calls meanwhile. */
  during(run: () => Promise<void>): Promise<void> {
    this.context.session.waits.follow(this);
    return this.context.session.pauses.during(() => this.updatePhase(), run);
  }

  /** No activity of the batch runs, not even one that waits for an answer. */
  get isQuiet(): boolean {
    return this.running === 0 && this.active === 0;
  }

  /** A question of the model waits for an answer, which is no decision. */
  get waiting(): readonly WaitingCall[] {
    const { approvals, delegations } = this.context.session;
    const asks = approvals.pending.filter(({ index, question }) => !question && this.tellsDecision(index));
    const outside = delegations.open.flatMap(({ key, outside: own }) => (own && !delegations.endOf(key) ? [own] : []));
    return [
      ...asks.map(({ call }) => ({ call, why: 'ask' }) as const),
      ...outside.map(({ call, by }) => ({ call, why: by }) as const),
    ].toSorted((one, other) => placeInName(one.call).index - placeInName(other.call).index);
  }

  /** A call for somebody outside is told of once it may begin, not before. */
  tellsDecision(index: number): boolean {
    return this.calls.some((call) => call.index === index && !call.beside);
  }

  /**
   * Runs an activity when the batch allows it. Nothing else may run or begin during an exclusive
   * one: an edited input was never judged safe (L35). Returns null when the call was cancelled
   * before its activity began.
   */
  async admit(isExclusive: boolean, run: () => Promise<RunToolResult>): Promise<RunToolResult | null> {
    const isFree = (): boolean => !this.isExclusive && (!isExclusive || this.active === 0);
    try {
      while (!isFree()) await condition(isFree);
    } catch (error) {
      if (!isCancellation(error)) throw error;
      return null;
    }
    this.active += 1;
    this.isExclusive = isExclusive;
    try {
      return await run();
    } finally {
      this.active -= 1;
      if (isExclusive) this.isExclusive = false;
    }
  }

  /** A call of the batch has its outcome, begins to wait, or is delegated. */
  countSettled(): void {
    this.running -= 1;
    this.updatePhase();
  }

  /** The thing that a call of the batch waited for has come. */
  countResumed(): void {
    this.running += 1;
    this.updatePhase();
  }

  /**
   * When every call that is left waits, so does the run. Time spent waiting for a decision, or for
   * a time that the model asked for, does not count, also where it is agents that wait (L51, L82).
   */
  private updatePhase(): void {
    const { session, clock } = this.context;
    const { running, working } = this;
    const until = session.delegations.longestWait;
    const asks = session.approvals.pending.length > 0;
    const outside = session.delegations.open.some((open) => open.outside !== undefined);
    const works = running > 0 || [...working].some(({ child }) => !session.pauses.isWaiting(child));
    const waits = running === 0 && working.size === 0 && (asks || outside || until !== null);
    session.setParkedUntil(waits && !asks ? until : null);
    if (waits || (!works && working.size > 0)) clock.pause();
    else clock.resume();
    session.enterPhase(waits ? (asks ? 'waiting_approval' : 'parked') : 'running');
    session.waits.change();
  }
}
