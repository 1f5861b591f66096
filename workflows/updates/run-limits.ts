// The limits of a run under way, which a person may raise. The runtime limit (L51) is an absolute
// deadline that stands still while the run is parked, and survives a handover.
import { CancellationScope, isCancellation, sleep } from '@temporalio/workflow';
import type { Limits, RunSnapshot } from '../contract/loop.ts';
import type { TopUp } from '../contract/session.ts';
import { present } from '../contract/present.ts';

/**
 * The snapshot of a run with its limits as they are now: the machine decides with raised ones from
 * the next step on (L45, L51).
 */
export class RunLimits {
  private current: RunSnapshot;
  private readonly clock: RunClock;

  constructor(snapshot: RunSnapshot, clock: RunClock) {
    this.current = snapshot;
    this.clock = clock;
  }

  get snapshot(): RunSnapshot {
    return this.current;
  }

  /** Milliseconds left of the runtime limit; null without one. */
  get leftMs(): number | null {
    return this.clock.leftMs;
  }

  /** Returns the limits that a person's message brings, once. */
  takeWhole(): Limits | null {
    const { whole, ...rest } = this.current;
    this.current = rest;
    return whole ?? null;
  }

  raise({ maxTurns, maxBudgetUsd, maxTokens, timeoutMs }: TopUp): void {
    const { rules } = this.current;
    if (timeoutMs !== undefined && rules.timeoutMs !== null) this.clock.extend(timeoutMs - rules.timeoutMs);
    const raised = {
      ...present({ maxTurns, maxBudgetUsd, maxTokens, timeoutMs }),
    };
    this.current = { ...this.current, rules: { ...rules, ...raised } };
  }
}

export class RunClock {
  private timer: CancellationScope | null = null;
  private pausedAt: number | null = null;
  private readonly expire: () => void;
  private readonly changed: (paused: boolean) => void;
  /**
   * The scope that resumes the clock may be cancelled long before the run ends, as a failing call
   * cancels its siblings.
   */
  private readonly parent = CancellationScope.current();
  private limit: number | null;

  /** `changed` is told when the clock stands still, and when it goes on. */
  constructor(deadline: number | null, expire: () => void, changed: (paused: boolean) => void = () => {}) {
    this.limit = deadline;
    this.expire = expire;
    this.changed = changed;
    this.start();
  }

  /**
   * Milliseconds since the epoch, moved on by the time it has stood still; null without a limit.
   */
  get deadline(): number | null {
    return this.limit === null || this.pausedAt === null ? this.limit : this.limit + Date.now() - this.pausedAt;
  }

  /** Milliseconds left; null without a limit. */
  get leftMs(): number | null {
    const { deadline } = this;
    return deadline === null ? null : deadline - Date.now();
  }

  pause(): void {
    if (this.pausedAt !== null) return;
    this.pausedAt = Date.now();
    this.stop();
    this.changed(true);
  }

  resume(): void {
    if (this.pausedAt === null) return;
    this.limit = this.deadline;
    this.pausedAt = null;
    this.start();
    this.changed(false);
  }

  /** Moves the deadline on by milliseconds. */
  extend(ms: number): void {
    if (this.limit === null) return;
    this.limit += ms;
    if (this.pausedAt !== null) return;
    this.stop();
    this.start();
  }

  stop(): void {
    this.timer?.cancel();
    this.timer = null;
  }

  private start(): void {
    if (this.limit === null) return;
    const left = this.limit - Date.now();
    if (left <= 0) return this.expire();
    const scope = new CancellationScope({ cancellable: true, parent: this.parent });
    this.timer = scope;
    void scope.run(() => this.wait(left));
  }

  private async wait(left: number): Promise<void> {
    try {
      await sleep(left);
      this.expire();
    } catch (error) {
      // The timer is cancelled with the run, or because the run ended in time.
      if (!isCancellation(error)) throw error;
    }
  }
}
