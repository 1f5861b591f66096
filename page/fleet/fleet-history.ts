// Tells how the fleet stood over an hour, a day or a week: from Prometheus where there is one, else
// what was spent and failed from the sessions that began in that time, and the rest from what this
// process has seen.
import type { Client } from '@temporalio/client';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SessionInfo } from '../../client/faces/types.ts';
import { WORKFLOW_TYPE } from '../../client/faces/basics.ts';
import { RecentMap } from '../../system/recent-map.ts';
import { reasonOf } from '../../system/text.ts';
import { computeShares } from '../usage/usage-page.tsx';
import { isBadReason } from './fleet-view.ts';
import { bucketStarts, type FleetLook, type FleetPoint, minuteRing } from './minute-ring.ts';
import { readPrometheusRange } from './prometheus-range.ts';

type FleetSpan = '1h' | '24h' | '7d';

export type FleetHistory = {
  readonly span: FleetSpan;
  /** Milliseconds of a point. */
  readonly step: number;
  /** Oldest first; the last is not over yet. */
  readonly points: readonly FleetPoint[];
  /** The same, with what was spent when it was seen to be. */
  readonly seen: readonly FleetPoint[];
  /** Sessions that closed in each point; null where the server could not say. */
  readonly closed: readonly (number | null)[];
  readonly source: 'prometheus' | 'here';
  /**
   * When this process began to look, in milliseconds since the epoch, for points that are from
   * here; null otherwise.
   */
  readonly since: number | null;
  /** The same of what was spent and failed; null when the points have all of it. */
  readonly spentSince: number | null;
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
const HOUR = 60 * MINUTE;
const spans: Readonly<Record<FleetSpan, { readonly step: number; readonly count: number }>> = {
  '1h': { step: MINUTE, count: 60 },
  '24h': { step: 30 * MINUTE, count: 48 },
  '7d': { step: 180 * MINUTE, count: 56 },
};

/** Counts of stretches that are over; they do not change. */
const MOST_COUNTS = 1_000;

type HistorianPorts = {
  /** Counts executions by a query of visibility. */
  readonly count: (query: string) => Promise<number>;
  /** Address of a Prometheus. */
  readonly prometheus: string | null;
  /** Reads the sessions that began in the last hours; null when there are too many to add up. */
  readonly startedSince: (hours: number) => Promise<readonly SessionInfo[] | null>;
};

/** Milliseconds that a span waits for its sums; the next reading has them. */
const SUMS_WAIT_MS = 1_000;

export const countBy =
  ({ workflow }: Client) =>
  async (query: string): Promise<number> =>
    (await workflow.count(query)).count;

export function fleetHistorian({ count, prometheus, startedSince }: HistorianPorts, now = Date.now): FleetHistorian {
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
      const own = async (trouble?: string): Promise<Omit<FleetHistory, 'closed'>> => {
        const started = startedSince((step * most) / HOUR).catch(() => null);
        const sessions = await Promise.race([started, sleep(SUMS_WAIT_MS, null)]);
        const points = ring.points(now(), step, most);
        return {
          span,
          step,
          points: sessions === null ? points : withSums(points, step, sessions),
          seen: points,
          source: 'here',
          since: ring.since,
          spentSince: sessions === null ? ring.since : null,
          ...(trouble !== undefined && { trouble }),
        };
      };
      if (prometheus === null) return { ...(await own()), closed: await closed };
      try {
        const points = await readPrometheusRange(prometheus, starts, step);
        return {
          span,
          step,
          points,
          seen: points,
          source: 'prometheus',
          since: null,
          spentSince: null,
          closed: await closed,
        };
      } catch (error) {
        return { ...(await own(`Prometheus could not be asked: ${reasonOf(error)}`)), closed: await closed };
      }
    },
  };
}

const isoOf = (ms: number): string => new Date(ms).toISOString();

/**
 * Puts what sessions spent, and their bad ends, where they began; the sums are those of the usage
 * page.
 */
function withSums(
  points: readonly FleetPoint[],
  step: number,
  sessions: readonly SessionInfo[],
): readonly FleetPoint[] {
  const first = points[0]?.at ?? 0;
  const cost = points.map((): Record<string, number> => ({}));
  const tokens = points.map(() => 0);
  const badRuns = points.map(() => 0);
  for (const { session, cents, tokens: used } of computeShares(sessions)) {
    // The oldest began a moment before the first point, which is of whole minutes.
    const at = Math.max(0, Math.min(points.length - 1, Math.floor((session.startedAt - first) / step)));
    const model = session.facts?.model ?? 'unknown';
    const sums = cost[at] ?? {};
    sums[model] = (sums[model] ?? 0) + cents / 100;
    tokens[at] = (tokens[at] ?? 0) + used;
    badRuns[at] = (badRuns[at] ?? 0) + Number(hasFailed(session));
  }
  return points.map((point, at) => ({
    ...point,
    cost: cost[at] ?? {},
    tokens: { all: tokens[at] ?? 0 },
    badRuns: badRuns[at] ?? 0,
  }));
}

/** The same test as the tab Failed. */
const hasFailed = ({ last, phase }: SessionInfo): boolean =>
  (phase === 'idle' || phase === 'closed') && last !== null && isBadReason(last.terminal.reason);
