// Tells how the fleet stood over an hour, a day or a week: from Prometheus where there is one, else
// from what this process has seen, with the sessions that closed from visibility.
import type { Client } from '@temporalio/client';
import { RecentMap } from '../../system/recent-map.ts';
import { reasonOf } from '../../system/text.ts';
import { WORKFLOW_TYPE } from '../../workflows/contract/session.ts';
import { bucketStarts, type FleetLook, type FleetPoint, minuteRing } from './minute-ring.ts';
import { readPrometheusRange } from './prometheus-range.ts';

export type FleetSpan = '1h' | '24h' | '7d';

export type FleetHistory = {
  readonly span: FleetSpan;
  /** Milliseconds of a point. */
  readonly step: number;
  /** Oldest first; the last is not over yet. */
  readonly points: readonly FleetPoint[];
  /** Sessions that closed in each point; null where the server could not say. */
  readonly closed: readonly (number | null)[];
  readonly source: 'prometheus' | 'here';
  /**
   * When this process began to look, in milliseconds since the epoch, for points that are from
   * here; null otherwise.
   */
  readonly since: number | null;
  /** Says why Prometheus was not asked, or did not answer. */
  readonly trouble?: string;
};

export type FleetHistorian = {
  /** Takes note of a look at the fleet. */
  note(look: FleetLook): void;
  /** Reads a span; the result is at most some seconds old. */
  read(span: FleetSpan): Promise<FleetHistory>;
};

const MINUTE = 60_000;
const spans: Readonly<Record<FleetSpan, { readonly step: number; readonly count: number }>> = {
  '1h': { step: MINUTE, count: 60 },
  '24h': { step: 30 * MINUTE, count: 48 },
  '7d': { step: 180 * MINUTE, count: 56 },
};

/** Counts of stretches that are over; they do not change. */
const MOST_COUNTS = 1_000;

export type HistorianPorts = {
  /** Counts executions by a query of visibility. */
  readonly count: (query: string) => Promise<number>;
  /** Address of a Prometheus. */
  readonly prometheus: string | null;
};

export const countBy =
  ({ workflow }: Client) =>
  async (query: string): Promise<number> =>
    (await workflow.count(query)).count;

export function fleetHistorian({ count, prometheus }: HistorianPorts, now = Date.now): FleetHistorian {
  const ring = minuteRing();
  const counted = new RecentMap<string, number>(MOST_COUNTS);
  const closedIn = async (from: number, to: number): Promise<number | null> => {
    const query = `WorkflowType = '${WORKFLOW_TYPE}' AND ExecutionStatus NOT IN ('Running', 'ContinuedAsNew') AND CloseTime >= '${isoOf(from)}' AND CloseTime < '${isoOf(to)}'`;
    const known = counted.get(query);
    if (known !== undefined) return known;
    try {
      const found = await count(query);
      // Visibility may learn of an end a little later.
      if (to < now() - MINUTE) counted.set(query, found);
      return found;
    } catch {
      // The rest can be shown without it.
      return null;
    }
  };
  return {
    note: ring.add,
    read: async (span) => {
      const { step, count: most } = spans[span];
      const starts = bucketStarts(now(), step, most);
      const closed = Promise.all(starts.map((from) => closedIn(from, from + step)));
      const own = (trouble?: string): Omit<FleetHistory, 'closed'> => ({
        span,
        step,
        points: ring.points(now(), step, most),
        source: 'here',
        since: ring.since,
        ...(trouble !== undefined && { trouble }),
      });
      if (prometheus === null) return { ...own(), closed: await closed };
      try {
        const points = await readPrometheusRange(prometheus, starts, step);
        return { span, step, points, source: 'prometheus', since: null, closed: await closed };
      } catch (error) {
        return { ...own(`Prometheus could not be asked: ${reasonOf(error)}`), closed: await closed };
      }
    },
  };
}

const isoOf = (ms: number): string => new Date(ms).toISOString();
