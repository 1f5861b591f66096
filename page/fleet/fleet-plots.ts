// The numbers of the cards over a span of time, from how the fleet stood. Pure.
import type { FleetHistory } from './fleet-history.ts';
import type { FleetPoint } from './minute-ring.ts';

/** Plots of a span: columns of equal length, the newest last. What is not known counts as none. */
export type Plots = {
  /** Beginning of the span, in milliseconds since the epoch. */
  readonly from: number;
  readonly working: readonly number[];
  readonly waiting: readonly number[];
  readonly cents: readonly number[];
  readonly tokens: readonly number[];
  readonly failed: readonly number[];
  /** Requests to models that failed. */
  readonly failedCalls: readonly number[];
  /** Since when something is known, in milliseconds since the epoch; null for all of the span. */
  readonly since: number | null;
  /** The same of what was spent and failed. */
  readonly spentSince: number | null;
  readonly source: FleetHistory['source'];
  /** US cents a minute, of the last columns; null while not known. */
  readonly rate: number | null;
};

/** Milliseconds over which the rate of spending is taken. */
const RATE_MS = 5 * 60_000;

export function plotsOf({ points, seen: samples, since, spentSince, source, step }: FleetHistory): Plots {
  const column = (of: (point: FleetPoint) => number | null): readonly number[] => points.map((point) => of(point) ?? 0);
  const cents = column(({ cost }) => sumOf(cost) * 100);
  const recent = samples.slice(-Math.max(1, Math.round(RATE_MS / step)));
  const isKnown = recent.some(({ cost }) => cost !== null);
  const used = recent.reduce((sum, { cost }) => sum + sumOf(cost) * 100, 0);
  return {
    from: points[0]?.at ?? 0,
    working: column(({ working }) => working),
    waiting: column(({ waiting }) => waiting),
    cents,
    tokens: column(({ tokens }) => sumOf(tokens)),
    failed: column(({ badRuns }) => badRuns),
    failedCalls: column(({ failedCalls }) => failedCalls),
    since,
    spentSince,
    source,
    rate: isKnown ? used / ((recent.length * step) / 60_000) : null,
  };
}

function sumOf(parts: Readonly<Record<string, number>> | null): number {
  return Object.values(parts ?? {}).reduce((sum, part) => sum + part, 0);
}
