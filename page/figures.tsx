// Figures and plots of the page: short amounts, times that stay up to date, meters, and plots that
// the server draws as SVG.
import { formatMoment } from '../client/units.ts';

/** Formats a large amount for a narrow column: 900, 15.4 k, 52.1 M. */
export function shortAmount(amount: number): string {
  if (amount < 1_000) return String(Math.round(amount));
  const [size, unit] = amount < 1e6 ? [1e3, 'k'] : amount < 1e9 ? [1e6, 'M'] : [1e9, 'G'];
  return `${(amount / size).toFixed(1)} ${unit}`;
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

/** A bar for a share between 0 and 1, with its words next to it. */
export function MeterBar({ share, name }: { readonly share: number; readonly name: string }) {
  const percent = Math.round(share * 100);
  return (
    <>
      <svg class="meter" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
        <rect width="100" height="6" class="meter-room" />
        <rect width={String(percent)} height="6" class={share > 0.7 ? 'meter-full' : 'meter-used'} />
      </svg>{' '}
      <small class="inline" title={name}>{`${percent} %`}</small>
    </>
  );
}

export type Tone = 'run' | 'wait' | 'fail' | 'ok' | 'park' | 'ctx';

const WIDTH = 240;
const HEIGHT = 36;

/** A line over an area; a value that is not known breaks neither. */
export function AreaPlot({ values, tone }: { readonly values: readonly number[]; readonly tone: Tone }) {
  const top = Math.max(...values, 1e-9);
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
    </svg>
  );
}

/** A column for each value. */
export function BarPlot({ values, tone }: { readonly values: readonly number[]; readonly tone: Tone }) {
  const top = Math.max(...values, 1e-9);
  const step = WIDTH / Math.max(1, values.length);
  const path = values
    .map((value, index) => {
      const tall = (value / top) * (HEIGHT - 3);
      const left = (index * step + 0.5).toFixed(1);
      return value <= 0 ? '' : `M${left} ${HEIGHT}v-${tall.toFixed(1)}h${(step - 1).toFixed(1)}v${tall.toFixed(1)}z`;
    })
    .join('');
  return (
    <svg class={`drawn tone-${tone}`} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
      <path class="floor" d={`M0 ${HEIGHT - 0.5}H${WIDTH}`} />
      <path class="columns" d={path} />
    </svg>
  );
}
