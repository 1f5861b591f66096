// Draws the plots above a timeline: how full the context was, tokens, cost, and cache hits, over
// all iterations of a session. A column shows its numbers on hover and links to its bar.
import type { Child } from 'hono/jsx';
import type { RunConfig, Iteration } from '../../client/faces/types.ts';
import { formatCount, formatMoney, formatTokens } from '../../client/faces/basics.ts';
import { shortAmount } from '../figures.tsx';
import type { Column } from './clock-rows.ts';

type Props = { readonly session: string; readonly columns: readonly Column[]; readonly config: RunConfig | null };

/** Height in the plot's own units; content stays below the edge. */
const HIGH = 100;

export function PlotList({ session, columns, config }: Props) {
  const last = columns.at(-1);
  if (!last) return <p class="quiet">Plots appear after the first reply.</p>;
  const at = { session, columns };
  return (
    <div class="plots">
      <ContextPlot {...at} last={last} config={config} />
      <SpendPlot
        {...at}
        name="Tokens"
        amount={({ tokens }) => tokens}
        total={({ runTokens }) => runTokens}
        limit={config?.rules.maxTokens ?? null}
        words={formatTokens}
      />
      <SpendPlot
        {...at}
        name="Cost"
        amount={({ usd }) => usd ?? 0}
        total={({ runUsd }) => runUsd ?? 0}
        limit={config?.rules.maxBudgetUsd ?? null}
        words={(usd) => formatMoney(last.runUsd === null ? null : usd)}
      />
      <CachePlot {...at} />
    </div>
  );
}

function ContextPlot({ session, columns, config, last }: Props & { readonly last: Column }) {
  const window = config?.models[0].window ?? null;
  const top = Math.max(window ?? 0, ...columns.map(({ context }) => context), 1);
  const compactions = columns.reduce((sum, one) => sum + one.compactions, 0);
  const { warning, critical } = config?.rules.compaction ?? {};
  const marks =
    window === null ? [] : [warning, critical].flatMap((share) => (share === undefined ? [] : share * window));
  const share = window === null ? '' : ` of ${shortAmount(window)}, ${Math.round((last.context / window) * 100)} %`;
  const most = shortAmount(Math.max(...columns.map(({ context }) => context)));
  return (
    <PlotFrame
      name="Context"
      words={`${shortAmount(last.context)}${share}`}
      session={session}
      columns={columns}
      peak={`peak ${most}${compactions > 0 ? `, compacted ${formatCount(compactions, 'time')}` : ''}`}
      describe={({ context, compactions: here }) => `${formatTokens(context)}${here > 0 ? ', compacted before' : ''}`}
    >
      <PlotBars columns={columns} value={({ context }) => context / top} />
      {columns.map((one, x) =>
        one.compactions > 0 ? <rect class="warn" x={x + 0.1} y={0} width={0.3} height={HIGH} /> : null,
      )}
      {marks.map((tokens, which) => (
        <LevelLine at={tokens / top} across={columns.length} kind={which === 0 ? 'warn' : 'bad'} />
      ))}
    </PlotFrame>
  );
}

type SpendPlotProps = Omit<Props, 'config'> & {
  readonly name: string;
  readonly amount: (column: Column) => number;
  readonly total: (column: Column) => number;
  /** Limit of the newest run. */
  readonly limit: number | null;
  readonly words: (amount: number) => string;
};

/** Plots what each column took as bars, and the run's total as a line, each to its own scale. */
function SpendPlot({ session, columns, name, amount, total, limit, words }: SpendPlotProps) {
  const most = Math.max(...columns.map(amount), Number.MIN_VALUE);
  const top = Math.max(...columns.map(total), limit ?? 0, Number.MIN_VALUE);
  const last = columns.at(-1);
  const sum = last ? total(last) : 0;
  const of = limit === null ? '' : ` of ${words(limit)}`;
  return (
    <PlotFrame
      name={name}
      words={`${words(sum)}${of} in run ${last?.last.run}`}
      session={session}
      columns={columns}
      peak={`peak ${words(most)}`}
      describe={(column) => `${words(amount(column))}, ${words(total(column))} in the run`}
    >
      <PlotBars columns={columns} value={(column) => amount(column) / most} />
      <polyline class="stroke" points={columns.map((one, x) => `${x + 0.5},${heightAt(total(one) / top)}`).join(' ')} />
      {limit === null ? null : <LevelLine at={limit / top} across={columns.length} kind="bad" />}
    </PlotFrame>
  );
}

function CachePlot({ session, columns }: Omit<Props, 'config'>) {
  const last = columns.at(-1)?.cached ?? null;
  const percent = (share: number | null): string => (share === null ? 'no prompt' : `${Math.round(share * 100)} %`);
  return (
    <PlotFrame
      name="Cache hits"
      words={`${percent(last)} of the last prompt`}
      session={session}
      columns={columns}
      peak="per prompt"
      describe={({ cached }) => `${percent(cached)} from the cache`}
    >
      <PlotBars columns={columns} value={({ cached }) => cached ?? 0} />
    </PlotFrame>
  );
}

type PlotProps = Omit<Props, 'config'> & {
  readonly name: string;
  readonly words: string;
  readonly describe: (column: Column) => string;
  /** The highest value, next to the axis. */
  readonly peak: string;
  readonly children: Child;
};

function PlotFrame({ name, words, session, columns, describe, peak, children }: PlotProps) {
  const [first, last] = [columns[0], columns.at(-1)];
  return (
    <figure class="card pad plot">
      <figcaption class="cut" title={`${name}: ${words}`}>
        <b>{name}</b> <span>{words}</span>
      </figcaption>
      <svg viewBox={`0 0 ${Math.max(24, columns.length)} ${HIGH}`} preserveAspectRatio="none" aria-hidden="true">
        {children}
        {columns.map((column, x) => (
          <a href={`/sessions/${session}/timeline?at=${nameOf(column)}#${rowId(column.first)}`} tabindex={-1}>
            <rect class="hit" x={x} y={0} width={1} height={HIGH}>
              <title>{`${labelOf(column)}: ${describe(column)}`}</title>
            </rect>
          </a>
        ))}
      </svg>
      <p class="axis" aria-hidden="true">
        <span>{first ? `run ${first.first.run}, #${first.first.iteration}` : ''}</span>
        <span>{peak}</span>
        <span>{last ? `#${last.last.iteration}` : ''}</span>
      </p>
    </figure>
  );
}

function PlotBars({
  columns,
  value,
}: {
  readonly columns: readonly Column[];
  readonly value: (column: Column) => number;
}) {
  return (
    <>
      {columns.map((column, x) => {
        const y = heightAt(value(column));
        return <rect class="amount run" x={x + 0.1} y={y} width={0.8} height={Math.round((HIGH - y) * 100) / 100} />;
      })}
    </>
  );
}

function LevelLine({
  at,
  across,
  kind,
}: {
  readonly at: number;
  readonly across: number;
  readonly kind: 'warn' | 'bad';
}) {
  const y = heightAt(at);
  return <line class={`level ${kind}`} x1={0} x2={Math.max(24, across)} y1={y} y2={y} />;
}

const heightAt = (share: number): number => Math.round((1 - 0.95 * Math.min(1, share)) * HIGH * 100) / 100;
const nameOf = ({ first: { run, iteration } }: Column): string => `${run}.${iteration}`;

function labelOf({ first, last }: Column): string {
  const one = `run ${first.run}, #${first.iteration}`;
  if (first === last) return one;
  return first.run === last.run ? `${one} to #${last.iteration}` : `${one} to run ${last.run}, #${last.iteration}`;
}

/** Returns the address of its part of the transcript. */
export function linkOf(session: string, { run, iteration, position, reply }: Iteration): string {
  const path = `/sessions/${session}`;
  if (reply) return `${path}?at=${run}.${iteration}#it-${reply.anchor}`;
  return position === null ? path : `${path}?at=e${position}#e${position}`;
}

/** Names its element on the timeline. */
export const rowId = ({ run, iteration }: Pick<Iteration, 'run' | 'iteration'>): string => `t-${run}-${iteration}`;
