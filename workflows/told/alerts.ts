// The alerts of a session: that it waits for a person, that a run has ended badly, that an agent of
// it has ended. Told to a worker's hooks one after the other, beside the loop, which never waits
// for them. A handover carries those that are not told yet, so that one may be told twice.
import { ActivityFailure, CancellationScope, condition, isCancellation, patched } from '@temporalio/workflow';
import type { RunEnded, SessionActivities } from '../contract/activities.ts';
import type { DelegatedEnd } from '../contract/delegation.ts';
import { noSpend } from '../contract/loop.ts';
import type { WaitingCall } from '../contract/told.ts';
import type { Hash } from '../contract/ids.ts';
import { LISTED_APPROVALS, type PendingApproval } from '../contract/session.ts';
import { isBadEnd } from '../contract/visibility.ts';
import type { Approvals } from '../updates/approvals.ts';
import type { Working } from '../delegated/shares.ts';
import type { Facts, Waking } from '../session/session-state.ts';

/**
 * Of a kind, that wait to be told while hooks hang: a handover carries them. Beyond, agents and
 * runs end untold.
 */
const MOST_ENDS = 100;

type Teller = {
  readonly ports: Pick<SessionActivities, 'tellAlert'>;
  readonly facts: Facts;
  readonly approvals: Approvals;
  readonly input: { readonly title: string };
};

export class Alerts {
  private readonly session: Teller;
  private queue: readonly Waking[];
  private telling: Waking | null = null;

  /** `carried`: what was not told at a handover. */
  constructor(session: Teller, carried: readonly Waking[]) {
    this.session = session;
    this.queue = carried;
    if (carried.length > 0) this.begin();
  }

  /** Not known to be told. */
  get open(): readonly Waking[] {
    return this.telling ? [this.telling, ...this.queue] : this.queue;
  }

  /** What begins to wait while others are told of is told together. */
  waiting({ call, tool, reason, deadline, askedAt }: PendingApproval, iteration: number, config: Hash): void {
    if (!this.isHeard('waiting')) return;
    const { runs: run } = this.session.facts.now;
    this.queue = this.queue.filter((waking) => this.isOpen(waking));
    const asked = { call, tool, reason, deadline, ...(askedAt === undefined ? {} : { askedAt }) };
    const last = this.queue.at(-1);
    if (last?.alert.kind === 'waiting' && last.alert.calls.length < LISTED_APPROVALS) {
      const alert = { ...last.alert, iteration, calls: [...last.alert.calls, asked] };
      this.queue = [...this.queue.slice(0, -1), { alert, config }];
    } else this.add({ alert: { kind: 'waiting', run, iteration, calls: [asked] }, config });
  }

  /** The end is stored: nothing is told of what could still come otherwise. */
  ended({ run, iterations: iteration, terminal, turns, spend, durationMs }: RunEnded, config: Hash | null): void {
    if (!isBadEnd(terminal) || !this.isHeard('failed')) return;
    if (this.isFullOf('failed') && patched('perdure-failed-bound')) return;
    this.add({ alert: { kind: 'failed', run, iteration, terminal, turns, spend, durationMs }, config });
  }

  /** In runs that an earlier release worked on, nobody is told. */
  agentEnded({ session, type, title, background, config }: Working, end: DelegatedEnd, iteration: number): void {
    const { alertKinds = [], runs: run } = this.session.facts.now;
    if (!alertKinds.includes('agentEnded') || !patched('perdure-agent-ended')) return;
    if (this.isFullOf('agentEnded')) return;
    const about = { session, type, title, background: background !== undefined };
    const took = end.kind === 'agent' ? { run: end.run, spend: end.spend } : { run: null, spend: noSpend };
    const detail = end.kind === 'failed' ? { detail: end.detail } : {};
    this.add({
      alert: { kind: 'agentEnded', run, iteration, ended: { ...about, ...took, ...detail } },
      config: config ?? null,
    });
  }

  async settled(): Promise<void> {
    if (this.open.length === 0) return;
    await CancellationScope.nonCancellable(() => condition(() => this.open.length === 0));
  }

  /**
   * While no worker has said which it has hooks for, as when the first run could not be opened, it
   * is found out by telling.
   */
  private isHeard(kind: 'waiting' | 'failed'): boolean {
    const { alertKinds } = this.session.facts.now;
    return alertKinds?.includes(kind) ?? patched('perdure-alerts');
  }

  private isFullOf(kind: 'failed' | 'agentEnded'): boolean {
    return this.queue.filter(({ alert }) => alert.kind === kind).length >= MOST_ENDS;
  }

  /** Of calls that are decided nobody is told. */
  private isOpen({ alert }: Waking): boolean {
    return alert.kind !== 'waiting' || alert.calls.some(({ call }) => this.session.approvals.isWaiting(call));
  }

  private add(waking: Waking): void {
    this.queue = [...this.queue, waking];
    if (!this.telling) this.begin();
  }

  private begin(): void {
    void CancellationScope.nonCancellable(() => this.tellAll());
  }

  private async tellAll(): Promise<void> {
    for (let next = this.next(); next; next = this.next()) {
      this.telling = next;
      await this.tell(next).catch(onlyFailures);
      this.telling = null;
    }
  }

  /** Of calls, those that are not decided meanwhile. */
  private next(): Waking | null {
    const [first, ...rest] = this.queue;
    if (!first) return null;
    this.queue = rest;
    const { alert, config } = first;
    if (alert.kind !== 'waiting') return first;
    const calls = alert.calls.filter(({ call }: WaitingCall) => this.session.approvals.isWaiting(call));
    return calls.length > 0 ? { alert: { ...alert, calls }, config } : this.next();
  }

  private tell({ alert, config }: Waking): Promise<void> {
    const { ports, facts, input } = this.session;
    return ports.tellAlert({ alert, chain: facts.now.chain, config, title: input.title, step: facts.nextStep() });
  }
}

/** That nobody could be told changes nothing; a bug stays one. */
function onlyFailures(error: unknown): void {
  if (!isCancellation(error) && !(error instanceof ActivityFailure)) throw error;
}
