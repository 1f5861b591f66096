// The limits of a run under way, which a person may change, and the rules it is given. The runtime
// limit (L51) is an absolute deadline that stands still while the run is parked, and survives a
// handover.
import { CancellationScope, isCancellation, sleep } from '@temporalio/workflow';
import type { Limits, RunSnapshot } from '../contract/loop.ts';
import type { NewLimits, RuleChanges } from '../contract/session.ts';
import { present } from '../contract/present.ts';

/**
 * The snapshot of a run with its limits as they are now: the machine decides with raised ones from
 * the next step on (L45, L51).
 */
export class RunLimits {
  private current: RunSnapshot;
  private readonly clock: RunClock;
  private readonly startedAt: number;

  /** `startedAt`: milliseconds since the epoch, when the run began. */
  constructor(snapshot: RunSnapshot, clock: RunClock, startedAt: number) {
    this.current = snapshot;
    this.clock = clock;
    this.startedAt = startedAt;
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

  change({ maxTurns, maxBudgetUsd, maxTokens, timeoutMs }: NewLimits): void {
    const { rules } = this.current;
    const changed = present({ maxTurns, maxBudgetUsd, maxTokens, timeoutMs });
    this.current = { ...this.current, rules: { ...rules, ...changed } };
    if (timeoutMs === undefined) return;
    if (rules.timeoutMs === null) this.clock.begin(this.startedAt + timeoutMs);
    else this.clock.extend(timeoutMs - rules.timeoutMs);
  }

  /** Adds rules that allow, and takes back those that were added like this. */
  changeRules({ allow = [], drop = [] }: RuleChanges): void {
    const { granted: before = [], ...rest } = this.current;
    const granted = withRules(before, { allow, drop });
    this.current = { ...rest, ...(granted.length > 0 && { granted }) };
  }
}

/** Returns the list with the rules added, each once, and without those that are taken back. */
export function withRules(list: readonly string[], { allow = [], drop = [] }: RuleChanges): readonly string[] {
  return [...new Set([...list, ...allow])].filter((rule) => !drop.includes(rule));
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

  /** Gives a run without a limit one: it has until this time, milliseconds since the epoch. */
  begin(deadline: number): void {
    this.limit = deadline;
    if (this.pausedAt === null) this.start();
  }

  /** Moves the deadline by milliseconds. */
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
