// The limits of a run under way, which a person may raise. The runtime limit (L51) is an absolute
// deadline that stands still while the run is parked and survives a handover.
import { CancellationScope, isCancellation, sleep } from '@temporalio/workflow';
import type { Limits, RunSnapshot } from '../contract/loop.ts';
import type { TopUp } from '../contract/session.ts';

/**
 * The snapshot of a run, with limits that may be raised while it runs: what it decides next counts
 * with them (L45, L51).
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

  /** Of the runtime limit; null without one. */
  get leftMs(): number | null {
    return this.clock.leftMs;
  }

  /** A person's message has come: the limits that it brings are asked for once. */
  takeWhole(): Limits | null {
    const { whole, ...rest } = this.current;
    this.current = rest;
    return whole ?? null;
  }

  raise({ maxTurns, maxBudgetUsd, maxTokens, timeoutMs }: TopUp): void {
    const { rules } = this.current;
    if (timeoutMs !== undefined && rules.timeoutMs !== null) this.clock.extend(timeoutMs - rules.timeoutMs);
    const raised = {
      ...(maxTurns === undefined ? {} : { maxTurns }),
      ...(maxBudgetUsd === undefined ? {} : { maxBudgetUsd }),
      ...(maxTokens === undefined ? {} : { maxTokens }),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
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
   * Whoever resumes it may be cancelled long before the run ends: a failing call, say, among its
   * siblings.
   */
  private readonly parent = CancellationScope.current();
  private limit: number | null;

  /** `changed`: it stands still, or goes on again. */
  constructor(deadline: number | null, expire: () => void, changed: (paused: boolean) => void = () => {}) {
    this.limit = deadline;
    this.expire = expire;
    this.changed = changed;
    this.start();
  }

  /**
   * Milliseconds since the epoch, moved on by what it stood still until now; null without a limit.
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

  /** Milliseconds more until the deadline. */
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
      // Cancelled with the run, or because it ended in time.
      if (!isCancellation(error)) throw error;
    }
  }
}
