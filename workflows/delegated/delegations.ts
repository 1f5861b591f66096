// The calls of a run that the workflow carries out itself (L62–L64): started once, carried over a
// handover, ended by their report, a deadline, or a stop. An open call costs nothing: no activity
// and no slot.
import {
  type AgentSpending,
  type DelegatedEnd,
  type DelegatedReport,
  LARGEST_RESULT,
  type OutsideKind,
} from '../contract/delegation.ts';
import type { CallKey } from '../contract/ids.ts';
import { type AgentListener, Agents, type AgentsCarry } from './agents.ts';
import { keepSpendOnly, readReport } from './reports.ts';

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
  /** Somebody outside gives the result, under the call's name. */
  readonly outside?: { readonly call: string; readonly by: OutsideKind };
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

/** How many reports are kept, and how many given-up calls are remembered: the newest. */
const MOST_KEPT = 100;

/**
 * Characters of JSON of the newest reports, which are kept whole. Older ones are shortened; what an
 * agent took counts all the same (L69).
 */
const MOST_WHOLE = LARGEST_RESULT + 64 * 1024;

const BEGINNING = 500;

type EarlyCarry = {
  readonly early?: readonly DelegatedReport[];
  /** Calls that were given up: the ends of their work are ignored. */
  readonly givenUp?: readonly CallKey[];
};

/**
 * Keeps reports that fit no open call. After a reset, ends that came before it are reported first
 * and wait for their calls, which are begun again. The end of a call that was given up is not
 * needed. All of it travels in a handover, and is bounded.
 */
class EarlyReports {
  private reports: ReadonlyMap<CallKey, DelegatedReport>;
  private givenUp: readonly CallKey[];

  constructor({ early = [], givenUp = [] }: EarlyCarry) {
    this.reports = new Map(early.map((report) => [report.key, report]));
    this.givenUp = givenUp;
  }

  /** Absent while there is nothing to carry. */
  get carry(): EarlyCarry {
    const early = [...this.reports.values()];
    const { givenUp } = this;
    return { ...(early.length > 0 && { early }), ...(givenUp.length > 0 && { givenUp }) };
  }

  giveUp(key: CallKey): void {
    this.givenUp = [...this.givenUp, key].slice(-MOST_KEPT);
  }

  keep(report: DelegatedReport): void {
    const { key, end } = report;
    // The spending of an agent counts although its call does not wait for it.
    if (end.kind !== 'agent' && this.givenUp.includes(key)) return;
    const others = [...this.reports.values()].filter((each) => each.key !== key);
    const bounded = boundReports([...others, report].slice(-MOST_KEPT));
    this.reports = new Map(bounded.map((each) => [each.key, each]));
  }

  /** Returns the report of a call that has begun, once. */
  take(key: CallKey): DelegatedReport | undefined {
    const report = this.reports.get(key);
    this.reports = new Map([...this.reports].filter(([each]) => each !== key));
    return report;
  }

  /** Returns the spending of agents whose calls were not made again, once. */
  takeSpent(): readonly AgentSpending[] {
    const reports = [...this.reports.values()];
    this.reports = new Map();
    return reports.flatMap(({ end }) =>
      end.kind === 'agent' ? [{ session: end.session, type: '', title: '', spend: end.spend }] : [],
    );
  }
}

function boundReports(reports: readonly DelegatedReport[]): readonly DelegatedReport[] {
  let room = MOST_WHOLE;
  return reports
    .toReversed()
    .map((report) => {
      room -= JSON.stringify(report).length;
      return room >= 0 ? report : { ...report, end: keepBeginning(report.end) };
    })
    .toReversed();
}

function keepBeginning(end: DelegatedEnd): DelegatedEnd {
  if (end.kind === 'agent') return keepSpendOnly(end);
  if (end.kind === 'failed') return { ...end, detail: end.detail.slice(0, BEGINNING) };
  if (end.kind !== 'done') return end;
  return { kind: 'done', cut: (end.cut ?? JSON.stringify(end.result ?? null)).slice(0, BEGINNING) };
}
