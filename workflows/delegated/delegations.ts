// The calls of a run that the workflow carries out itself (L62–L64): begun once, carried over a
// handover, ended by their report, their time, or a stop. An open call costs nothing: it holds no
// activity and no slot.
import type { AgentSpending, DelegatedEnd } from '../contract/delegation.ts';
import type { CallKey } from '../contract/ids.ts';
import { Agents, type AgentListener, type AgentsCarry } from './agents.ts';
import { EarlyReports, type EarlyCarry } from './early-reports.ts';
import { readReport } from './reports.ts';

/** A call that is open: a workflow of its own does the work, or it waits for a time. */
export type OpenDelegation = {
  readonly key: CallKey;
  readonly index: number;
  /** The id of the workflow that does the work. */
  readonly child?: string;
  /** The child is the session of an agent. */
  readonly agent?: true;
  /** Milliseconds since the epoch: the end of a wait. */
  readonly until?: number;
  /** A message to the session ends the wait. */
  readonly message?: true;
  /**
   * The call was begun before a handover: this workflow run is not told when its child is ended
   * from outside.
   */
  readonly carried?: true;
};

type CarriedDelegations = EarlyCarry & {
  readonly run?: { readonly tools: { readonly delegated?: readonly OpenDelegation[] } | null } | null;
  readonly agents?: AgentsCarry;
};

export class Delegations {
  readonly agents: Agents;
  private readonly waiting: Map<CallKey, OpenDelegation>;
  private readonly ends: Map<CallKey, DelegatedEnd>;
  private readonly early: EarlyReports;

  constructor({ run, agents, ...early }: CarriedDelegations = {}, listener?: AgentListener) {
    const open = run?.tools?.delegated ?? [];
    this.agents = new Agents(agents, listener);
    this.early = new EarlyReports(early);
    this.waiting = new Map(open.map((each) => [each.key, each]));
    this.ends = new Map();
  }

  get open(): readonly OpenDelegation[] {
    return [...this.waiting.values()];
  }

  /** Every end that has come was taken by its call. */
  get allTaken(): boolean {
    return this.ends.size === 0;
  }

  /** Milliseconds since the epoch: the end of the longest wait. Null without a wait. */
  get longestWait(): number | null {
    const times = this.open.flatMap(({ until }) => (until === undefined ? [] : [until]));
    return times.length === 0 ? null : Math.max(...times);
  }

  begin(open: OpenDelegation): void {
    this.waiting.set(open.key, open);
  }

  /** Takes a signal's value. A report counts once: for its open call, and for its agent. */
  report(value: unknown): void {
    const report = readReport(value);
    if (report === null) return;
    const { key, end } = report;
    if (!this.waiting.has(key) && !this.agents.knows(key)) this.early.keep(report);
    this.agents.report(report);
    this.settle(key, end);
  }

  /** Sets the end of an open call; the first one counts. */
  settle(key: CallKey, end: DelegatedEnd): void {
    if (this.waiting.has(key) && !this.ends.has(key)) this.ends.set(key, end);
  }

  /** Absent while there is nothing to carry. */
  get carry(): EarlyCarry & { readonly agents?: AgentsCarry } {
    return { ...this.agents.carry, ...this.early.carry };
  }

  /**
   * Returns the spending of agents whose calls a reset has undone, and that were not made again:
   * the run that could have made them is over (L69).
   */
  takeUnclaimed(): readonly AgentSpending[] {
    return this.early.takeSpent();
  }

  claimEarlyReport(key: CallKey): void {
    const report = this.early.take(key);
    if (report) this.report(report);
  }

  endOf(key: CallKey): DelegatedEnd | undefined {
    return this.ends.get(key);
  }

  close(key: CallKey): void {
    this.waiting.delete(key);
    this.ends.delete(key);
  }

  /** Closes a call without an end; one that comes later is ignored. */
  giveUp(key: CallKey): void {
    this.close(key);
    this.early.giveUp(key);
  }
}
