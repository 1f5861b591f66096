// Figures and plots of the page: short amounts, times that stay up to date, meters, and plots that
// the server draws as SVG.
import { formatMoment } from '../client/faces/basics.ts';

/** Formats a whole number: 2,100. */
export const formatNumber = (n: number): string => n.toLocaleString('en');

/** Formats a large amount for a narrow column: 900, 15.4 k, 338 k, 52.1 M. */
export function shortAmount(amount: number): string {
  if (amount < 1_000) return String(Math.round(amount));
  const [size, unit] = amount < 1e6 ? [1e3, 'k'] : amount < 1e9 ? [1e6, 'M'] : [1e9, 'G'];
  const scaled = amount / size;
  return `${scaled < 100 ? scaled.toFixed(1).replace(/\.0$/, '') : String(Math.round(scaled))} ${unit}`;
}

/** Shows how long ago a moment was, without the word ago; the page keeps it up to date. */
export function Age({ at }: { readonly at: number }) {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return <span>–</span>;
  return (
    <time datetime={date.toISOString()} title={formatMoment(at)} data-at={String(at)} data-bare>
      {formatMoment(at).slice(11, 16)}
    </time>
  );
}

/** Shows a moment by the clock of who looks, which the page puts in its place; UTC on hover. */
export function LocalTime({ at }: { readonly at: number }) {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return <span>–</span>;
  return (
    <time datetime={date.toISOString()} title={formatMoment(at)} data-local={String(at)}>
      {`${formatMoment(at).slice(0, 16)} UTC`}
    </time>
  );
}

const MOMENTS = /(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC)/;

/** Shows words of the client with the moments in them by the clock of who looks. */
export function TimedText({ text }: { readonly text: string }) {
  return <>{text.split(MOMENTS).map((part, at) => (at % 2 === 0 ? part : <LocalTime at={momentIn(part)} />))}</>;
}

const momentIn = (text: string): number => Date.parse(text.replace(' ', 'T').replace(' UTC', 'Z'));

/** A bar for a share between 0 and 1, with its words next to it. */
export function MeterBar({ share, name }: { readonly share: number; readonly name: string }) {
  const percent = Math.round(share * 100);
  return (
    <>
      <svg class="meter" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
        <rect width="100" height="6" class="track" />
        <rect width={String(percent)} height="6" class={share > 0.7 ? 'near' : 'context'} />
      </svg>{' '}
      <small class="inline" title={name}>{`${percent} %`}</small>
    </>
  );
}

type Tone = 'run' | 'wait' | 'fail' | 'ok' | 'park' | 'ctx';

const WIDTH = 240;
const HEIGHT = 36;

type AreaProps = {
  readonly values: readonly number[];
  readonly tone: Tone;
  /** Drawn as a dashed line. */
  readonly most?: number | undefined;
};

/** A line over an area; a value that is not known breaks neither. */
export function AreaPlot({ values, tone, most }: AreaProps) {
  const top = Math.max(...values, most ?? 0, 1e-9);
  const step = WIDTH / Math.max(1, values.length - 1);
  const at = (value: number, index: number): string =>
    `${(index * step).toFixed(1)} ${(HEIGHT - 1 - (value / top) * (HEIGHT - 4)).toFixed(1)}`;
  const line = values.map(at).join('L');
  return (
    <svg class={`drawn tone-${tone}`} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
      <path class="floor" d={`M0 ${HEIGHT - 0.5}H${WIDTH}`} />
      {values.length === 0 ? null : (
        <>
          <path class="area" d={`M0 ${HEIGHT}L${line}L${WIDTH} ${HEIGHT}Z`} />
          <path class="stroke" d={`M${line}`} />
        </>
      )}
      {most === undefined ? null : <path class="level bad" d={`M0 ${at(most, 0).split(' ')[1]}H${WIDTH}`} />}
    </svg>
  );
}

type Columns = { readonly values: readonly number[]; readonly tone: Tone };

/** A column for each value; with `above`, that of the same place stands on it. */
export function BarPlot({ values, tone, above }: Columns & { readonly above?: Columns }) {
  const top = Math.max(...values.map((value, at) => value + (above?.values[at] ?? 0)), 1e-9);
  const step = WIDTH / Math.max(1, values.length);
  const tallOf = (value: number): number => (value / top) * (HEIGHT - 3);
  const pathOf = (heights: readonly number[], floors: readonly number[] = []): string =>
    heights
      .map((value, at) => {
        const [tall, from] = [tallOf(value).toFixed(1), (HEIGHT - tallOf(floors[at] ?? 0)).toFixed(1)];
        const left = (at * step + 0.5).toFixed(1);
        return value <= 0 ? '' : `M${left} ${from}v-${tall}h${(step - 1).toFixed(1)}v${tall}z`;
      })
      .join('');
  return (
    <svg class={`drawn tone-${tone}`} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
      <path class="floor" d={`M0 ${HEIGHT - 0.5}H${WIDTH}`} />
      <path class="columns" d={pathOf(values)} />
      {above ? <path class={`columns tone-${above.tone}`} d={pathOf(above.values, values)} /> : null}
    </svg>
  );
}

/** How often a session did something in each five minutes of the last hour. */
export function HourPlot({ beats }: { readonly beats: readonly number[] }) {
  const top = Math.max(...beats, 1);
  const sum = beats.reduce((all, beat) => all + beat, 0);
  return (
    <svg class="hour tone-run" viewBox="0 0 96 20" role="img" aria-label={`${sum} steps in the last hour`}>
      <path class="floor" d="M0 19.5H96" />
      {beats.map((beat, at) =>
        beat === 0 ? null : (
          <rect
            x={at * 8 + 0.5}
            y={Math.round(19 - (beat / top) * 17)}
            width="6"
            height={Math.round((beat / top) * 17)}
          />
        ),
      )}
    </svg>
  );
}
