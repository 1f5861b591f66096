// The alerts of a session: it waits for a person, a run has ended badly, an agent has ended. An
// activity passes them to a worker's hooks one after the other, and the loop does not wait for it.
// A handover carries alerts whose delivery is unconfirmed, so one may be delivered twice.
import { ActivityFailure, CancellationScope, condition, isCancellation, patched } from '@temporalio/workflow';
import type { RunEnded, SessionActivities } from '../contract/activities.ts';
import type { DelegatedEnd } from '../contract/delegation.ts';
import { noSpend } from '../contract/loop.ts';
import type { WaitingCall } from '../contract/told.ts';
import type { Hash } from '../contract/ids.ts';
import { LISTED_APPROVALS, type PendingApproval } from '../contract/session.ts';
import { isBadEnd } from '../contract/visibility.ts';
import type { Approvals } from '../updates/approvals.ts';
import type { WorkingAgent } from '../delegated/shares.ts';
import type { Facts, QueuedAlert } from '../session/session-state.ts';
import { present } from '../contract/present.ts';

/**
 * Alerts of a kind that may wait while hooks hang, because a handover carries them. Further ends of
 * agents and runs are not told.
 */
const MOST_ENDS = 100;

type AlertSession = {
  readonly ports: Pick<SessionActivities, 'tellAlert'>;
  readonly facts: Facts;
  readonly approvals: Approvals;
  readonly input: { readonly title: string };
};

export class Alerts {
  private readonly session: AlertSession;
  private queue: readonly QueuedAlert[];
  private telling: QueuedAlert | null = null;

  /** `carried`: alerts that were not told before a handover. */
  constructor(session: AlertSession, carried: readonly QueuedAlert[]) {
    this.session = session;
    this.queue = carried;
    if (carried.length > 0) this.begin();
  }

  /** Alerts that are not known to be told. */
  get open(): readonly QueuedAlert[] {
    return this.telling ? [this.telling, ...this.queue] : this.queue;
  }

  /**
   * Joins an alert that is not told yet, so that calls that begin to wait meanwhile are told
   * together.
   */
  alertWaiting({ call, tool, reason, deadline, askedAt }: PendingApproval, iteration: number, config: Hash): void {
    if (!this.isHeard('waiting')) return;
    const { runs: run } = this.session.facts.now;
    this.queue = this.queue.filter((waking) => this.isOpen(waking));
    const question = { call, tool, reason, deadline, ...present({ askedAt }) };
    const last = this.queue.at(-1);
    if (last?.alert.kind === 'waiting' && last.alert.calls.length < LISTED_APPROVALS) {
      const alert = { ...last.alert, iteration, calls: [...last.alert.calls, question] };
      this.queue = [...this.queue.slice(0, -1), { alert, config }];
    } else this.add({ alert: { kind: 'waiting', run, iteration, calls: [question] }, config });
  }

  /** Call it once the end is stored: an end that could still change is not told. */
  alertFailedRun(
    { run, iterations: iteration, terminal, turns, spend, durationMs }: RunEnded,
    config: Hash | null,
  ): void {
    if (!isBadEnd(terminal) || !this.isHeard('failed')) return;
    if (this.isFullOf('failed') && patched('perdure-failed-bound')) return;
    this.add({ alert: { kind: 'failed', run, iteration, terminal, turns, spend, durationMs }, config });
  }

  /** Runs that an earlier release opened tell nothing. */
  alertAgentEnd(
    { session, type, title, background, config }: WorkingAgent,
    end: DelegatedEnd,
    iteration: number,
  ): void {
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

  async awaitSettled(): Promise<void> {
    if (this.open.length === 0) return;
    await CancellationScope.nonCancellable(() => condition(() => this.open.length === 0));
  }

  /**
   * While no worker has said which alerts it has hooks for, as when the first run could not be
   * opened, telling one finds out.
   */
  private isHeard(kind: 'waiting' | 'failed'): boolean {
    const { alertKinds } = this.session.facts.now;
    return alertKinds?.includes(kind) ?? patched('perdure-alerts');
  }

  private isFullOf(kind: 'failed' | 'agentEnded'): boolean {
    return this.queue.filter(({ alert }) => alert.kind === kind).length >= MOST_ENDS;
  }

  /** A call that is decided need not be told. */
  private isOpen({ alert }: QueuedAlert): boolean {
    return alert.kind !== 'waiting' || alert.calls.some(({ call }) => this.session.approvals.isWaiting(call));
  }

  private add(waking: QueuedAlert): void {
    this.queue = [...this.queue, waking];
    if (!this.telling) this.begin();
  }

  private begin(): void {
    void CancellationScope.nonCancellable(() => this.tellAll());
  }

  private async tellAll(): Promise<void> {
    for (let next = this.next(); next; next = this.next()) {
      this.telling = next;
      await this.tell(next).catch(throwUnlessFailure);
      this.telling = null;
    }
  }

  /** Returns the next alert, without the calls that are decided meanwhile. */
  private next(): QueuedAlert | null {
    const [first, ...rest] = this.queue;
    if (!first) return null;
    this.queue = rest;
    const { alert, config } = first;
    if (alert.kind !== 'waiting') return first;
    const calls = alert.calls.filter(({ call }: WaitingCall) => this.session.approvals.isWaiting(call));
    return calls.length > 0 ? { alert: { ...alert, calls }, config } : this.next();
  }

  private tell({ alert, config }: QueuedAlert): Promise<void> {
    const { ports, facts, input } = this.session;
    return ports.tellAlert({ alert, chain: facts.now.chain, config, title: input.title, step: facts.nextStep() });
  }
}

/** A failure to tell changes nothing; a defect is thrown on. */
export function throwUnlessFailure(error: unknown): void {
  if (!isCancellation(error) && !(error instanceof ActivityFailure)) throw error;
}
