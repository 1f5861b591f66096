// Keeps reports that fit no open call. After a reset, ends that came before it are reported first
// and wait for their calls, which are begun again. The end of a call that was given up is not
// needed. All of it travels in a handover, and is bounded.
import { LARGEST_RESULT, type AgentSpending, type DelegatedEnd, type DelegatedReport } from '../contract/delegation.ts';
import type { CallKey } from '../contract/ids.ts';
import { keepSpendOnly } from './reports.ts';

/** How many reports are kept, and how many given-up calls are remembered: the newest. */
const MOST_KEPT = 100;

/**
 * Characters of JSON of the newest reports, which are kept whole. Older ones are shortened; what an
 * agent took counts all the same (L69).
 */
const MOST_WHOLE = LARGEST_RESULT + 64 * 1024;

const BEGINNING = 500;

export type EarlyCarry = {
  readonly early?: readonly DelegatedReport[];
  /** Calls that were given up: the ends of their work are ignored. */
  readonly givenUp?: readonly CallKey[];
};

export class EarlyReports {
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
    const kept = boundReports([...others, report].slice(-MOST_KEPT));
    this.reports = new Map(kept.map((each) => [each.key, each]));
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
