// The cards above the list: how many work and wait, what it costs, what goes wrong, over time.
// The numbers of the cards over a span of time, from how the fleet stood. Pure.
import { formatCount, formatMoment, formatMoney } from '../../client/faces/basics.ts';
import type { WaitingApproval } from '../../client/faces/types.ts';
import { Age, AreaPlot, BarPlot, formatNumber, LocalTime, shortAmount } from '../figures.tsx';
import type { FleetHistory } from './fleet-history.ts';
import { spans, type ViewSpan } from './fleet-view.ts';
import type { FleetPoint } from './minute-ring.ts';

type CardsProps = {
  readonly working: number;
  readonly of: number;
  readonly waiting: readonly WaitingApproval[];
  readonly plots: Plots;
  readonly span: ViewSpan;
  /** Cost and failures are known for all sessions together only. */
  readonly isFiltered: boolean;
};

export function FleetCards({ working, of, waiting, plots, span, isFiltered }: CardsProps) {
  const oldest = Math.min(...waiting.map(({ askedAt }) => askedAt ?? Infinity));
  const [cents, tokens, failed, calls] = [plots.cents, plots.tokens, plots.failed, plots.failedCalls].map((values) =>
    values.reduce((sum, value) => sum + value, 0),
  );
  const known = plots.source === 'prometheus' ? 'From Prometheus.' : describeSeen(plots.since, plots.from);
  const sums = plots.source === 'prometheus' ? known : describeSums(plots, span);
  const whole = isFiltered ? ' · all sessions' : '';
  const time = (
    <>
      {plots.spentSince === null ? spanText(span) : <Since at={plots.spentSince} />}
      {whole}
    </>
  );
  return (
    <div class="cards" id="cards">
      <Card name="Working" span={span} note={known}>
        <Figure value={formatNumber(working)}>{`of ${formatNumber(of)}`}</Figure>
        {isFiltered ? null : <AreaPlot values={plots.working} tone="run" />}
      </Card>
      <Card name="Needs you" span={span} note={known}>
        <Figure value={formatNumber(waiting.length)} tone={waiting.length > 0 ? 'warn' : undefined}>
          {Number.isFinite(oldest) ? (
            <>
              oldest <Age at={oldest} />
            </>
          ) : (
            ''
          )}
        </Figure>
        {isFiltered ? null : <AreaPlot values={plots.waiting} tone="wait" />}
      </Card>
      <Card name="Cost" span={span} wide note={sums}>
        <Figure value={formatMoney((cents ?? 0) / 100)}>
          {time}
          {plots.rate === null || plots.rate < LEAST_RATE ? '' : ` · ${perMinute(plots.rate)}`}
        </Figure>
        <BarPlot values={plots.cents} tone="park" />
      </Card>
      <Card name="Tokens" span={span} wide note={sums}>
        <Figure value={shortAmount(tokens ?? 0)}>{time}</Figure>
        <BarPlot values={plots.tokens} tone="ctx" />
      </Card>
      <Card name="Errors" span={span} wide note={`${sums} Failed model calls: ${known}`}>
        <Figure value={formatNumber(failed ?? 0)} tone={(failed ?? 0) > 0 ? 'bad' : undefined}>
          {`failed · ${formatCount(Math.round(calls ?? 0), 'failed model call')}`}
          {isSeenInPart(plots) ? (
            <>
              {' '}
              <Since at={plots.since} />
            </>
          ) : null}
          {whole}
        </Figure>
        <BarPlot values={plots.failed} tone="fail" above={{ values: plots.failedCalls, tone: 'wait' }} />
      </Card>
    </div>
  );
}

/** Cents a minute that money shows as more than zero. */
const LEAST_RATE = 0.01;

const perMinute = (cents: number): string => `${formatMoney(cents / 100)}/min`;

const spanText = (span: ViewSpan): string => span.replace(/(\d+)/, '$1 ');

/** Failed calls are known of the time alone in which this page looked. */
const isSeenInPart = (plots: Plots): plots is Plots & { readonly since: number } =>
  plots.source !== 'prometheus' && plots.since !== null && plots.since > plots.from;

/** In place of a span that is not known whole. */
function Since({ at }: { readonly at: number }) {
  return (
    <>
      since <LocalTime at={at} />
    </>
  );
}

function describeSeen(since: number | null, from: number): string {
  if (since === null || since <= from) return 'As seen by this page.';
  return `As seen by this page since ${formatMoment(since)}.`;
}

function describeSums({ spentSince, from }: Plots, span: ViewSpan): string {
  if (spentSince !== null) return describeSeen(spentSince, from);
  return `Sessions started in the last ${spanText(span)}, as on the Usage page.`;
}

type CardProps = {
  readonly name: string;
  readonly span: ViewSpan;
  readonly wide?: boolean;
  readonly note: string;
  readonly children: unknown;
};

function Card({ name, span, wide = false, note, children }: CardProps) {
  return (
    <div class={wide ? 'card figure-card wide-card' : 'card figure-card'} role="group" aria-label={name} title={note}>
      <h2>{name}</h2>
      {children}
      <div class="axis" aria-hidden="true">
        {(wide ? [1, 0.75, 0.5, 0.25] : [1]).map((part) => (
          <span>{`−${axisText(spans[span] * part)}`}</span>
        ))}
        <span>now</span>
      </div>
    </div>
  );
}

function axisText(ms: number): string {
  const hours = ms / 3_600_000;
  if (hours < 1) return `${Math.round(hours * 60)} min`;
  return hours <= 24 ? `${hours} h` : `${(hours / 24).toFixed(hours % 24 === 0 ? 0 : 1)} d`;
}

function Figure({
  value,
  tone,
  children,
}: {
  readonly value: string;
  readonly tone?: string | undefined;
  readonly children: unknown;
}) {
  return (
    <p class="value">
      <b class={tone}>{value}</b> <small class="inline">{children}</small>
    </p>
  );
}

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
