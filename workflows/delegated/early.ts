// Reports that fit no open call. After a reset, those of what has ended before come first: they
// wait for their calls, which are begun again. The end of a call that was given up comes late, and
// nobody waits for it. All of it travels in a handover, so that it is bounded.
import { LARGEST_RESULT, type AgentSpent, type DelegatedEnd, type DelegatedReport } from '../contract/delegation.ts';
import type { CallKey } from '../contract/ids.ts';
import { spendAlone } from './reports.ts';

/** Reports that are kept, and calls that are remembered: the newest. */
const MOST_KEPT = 100;

/**
 * Characters of JSON of the reports that are kept whole, the newest. Of an older one there is the
 * beginning; what an agent took counts all the same (L69).
 */
const MOST_WHOLE = LARGEST_RESULT + 64 * 1024;

const BEGINNING = 500;

export type EarlyCarry = {
  readonly early?: readonly DelegatedReport[];
  /** Calls that were given up: the ends of what they had begun are passed over. */
  readonly givenUp?: readonly CallKey[];
};

export class EarlyReports {
  private reports: ReadonlyMap<CallKey, DelegatedReport>;
  private givenUp: readonly CallKey[];

  constructor({ early = [], givenUp = [] }: EarlyCarry) {
    this.reports = new Map(early.map((report) => [report.key, report]));
    this.givenUp = givenUp;
  }

  /** Absent without any. */
  get carry(): EarlyCarry {
    const early = [...this.reports.values()];
    const { givenUp } = this;
    return { ...(early.length > 0 ? { early } : {}), ...(givenUp.length > 0 ? { givenUp } : {}) };
  }

  giveUp(key: CallKey): void {
    this.givenUp = [...this.givenUp, key].slice(-MOST_KEPT);
  }

  keep(report: DelegatedReport): void {
    const { key, end } = report;
    // What an agent took counts, whoever still waits for its end.
    if (end.kind !== 'agent' && this.givenUp.includes(key)) return;
    const others = [...this.reports.values()].filter((each) => each.key !== key);
    const kept = withinBound([...others, report].slice(-MOST_KEPT));
    this.reports = new Map(kept.map((each) => [each.key, each]));
  }

  /** Its call has begun. */
  take(key: CallKey): DelegatedReport | undefined {
    const report = this.reports.get(key);
    this.reports = new Map([...this.reports].filter(([each]) => each !== key));
    return report;
  }

  /** What agents took whose calls were not made again, each once. */
  takeSpent(): readonly AgentSpent[] {
    const reports = [...this.reports.values()];
    this.reports = new Map();
    return reports.flatMap(({ end }) =>
      end.kind === 'agent' ? [{ session: end.session, type: '', title: '', spend: end.spend }] : [],
    );
  }
}

function withinBound(reports: readonly DelegatedReport[]): readonly DelegatedReport[] {
  let room = MOST_WHOLE;
  return reports
    .toReversed()
    .map((report) => {
      room -= JSON.stringify(report).length;
      return room >= 0 ? report : { ...report, end: beginningOf(report.end) };
    })
    .toReversed();
}

function beginningOf(end: DelegatedEnd): DelegatedEnd {
  if (end.kind === 'agent') return spendAlone(end);
  if (end.kind === 'failed') return { ...end, detail: end.detail.slice(0, BEGINNING) };
  if (end.kind !== 'done') return end;
  return { kind: 'done', cut: (end.cut ?? JSON.stringify(end.result ?? null)).slice(0, BEGINNING) };
}
