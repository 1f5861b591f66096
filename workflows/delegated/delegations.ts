// The calls of a run that the workflow carries out itself (L62–L64): begun once, carried over a
// handover, ended by their report, their time, or a stop. Held open they cost nothing: no activity,
// no slot.
import type { AgentSpent, DelegatedEnd } from '../contract/delegation.ts';
import type { CallKey } from '../contract/ids.ts';
import { Agents, type AgentListener, type AgentsCarry } from './agents.ts';
import { EarlyReports, type EarlyCarry } from './early.ts';
import { readReport } from './reports.ts';

/** A call that is open: a workflow of its own does the work, or it waits for a time. */
export type OpenDelegation = {
  readonly key: CallKey;
  readonly index: number;
  /** The id of the workflow that does the work. */
  readonly child?: string;
  /** That workflow is the session of an agent. */
  readonly agent?: true;
  /** Milliseconds since the epoch: a wait is over then. */
  readonly until?: number;
  /** A message to the session ends the wait. */
  readonly message?: true;
  /**
   * It was begun before a handover: nothing tells this workflow run when its workflow is ended from
   * outside.
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

  /** No end has come that its call has not taken. */
  get allTaken(): boolean {
    return this.ends.size === 0;
  }

  /**
   * Milliseconds since the epoch: when the last of the waits for a time is over. Null without one.
   */
  get longestWait(): number | null {
    const times = this.open.flatMap(({ until }) => (until === undefined ? [] : [until]));
    return times.length === 0 ? null : Math.max(...times);
  }

  begin(open: OpenDelegation): void {
    this.waiting.set(open.key, open);
  }

  /** Counted once, and only for a call that is open. */
  report(value: unknown): void {
    const report = readReport(value);
    if (report === null) return;
    const { key, end } = report;
    if (!this.waiting.has(key) && !this.agents.knows(key)) this.early.keep(report);
    this.agents.report(report);
    this.settle(key, end);
  }

  /** For a call that is open: the first counts. */
  settle(key: CallKey, end: DelegatedEnd): void {
    if (this.waiting.has(key) && !this.ends.has(key)) this.ends.set(key, end);
  }

  /** For a handover. Absent without any. */
  get carry(): EarlyCarry & { readonly agents?: AgentsCarry } {
    return { ...this.agents.carry, ...this.early.carry };
  }

  /**
   * What agents took whose calls a reset has undone, and that were not made again: the run that
   * could have is over (L69).
   */
  takeUnclaimed(): readonly AgentSpent[] {
    return this.early.takeSpent();
  }

  begun(key: CallKey): void {
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

  /** Closed without an end: one that comes later is passed over. */
  giveUp(key: CallKey): void {
    this.close(key);
    this.early.giveUp(key);
  }
}
