// Draws a session's timeline in a terminal: a row for each iteration, with a bar of how it spent
// its time, why the loop came to it, and who worked on it. Without colours, letters tell the parts
// apart. Pure.
import { endWords, transitionText } from '../../client/faces/words.ts';
import type { Bar, SegmentKind, Paint } from '../../client/faces/types.ts';
import { workerName } from '../../client/faces/turns.ts';
import { formatCount, shortTime, displayWidth, wrapLine } from '../../client/faces/basics.ts';
import { oneLine } from '../../client/faces/start.ts';

const LOOKS: Readonly<
  Record<SegmentKind, readonly [sign: string, colour: 'cyan' | 'green' | 'yellow' | 'red' | 'dim', name: string]>
> = {
  model: ['m', 'cyan', 'model'],
  tools: ['t', 'green', 'tools'],
  context: ['c', 'yellow', 'context'],
  other: ['o', 'dim', 'other'],
  waiting: ['w', 'yellow', 'waiting for a person'],
  parked: ['p', 'dim', 'parked'],
  queue: ['q', 'dim', 'a worker was busy'],
  retry: ['r', 'yellow', 'failed attempts, backed off'],
  lost: ['x', 'red', 'lost with a worker'],
  gap: ['!', 'red', 'no worker'],
};

/** Columns of the longest bar. */
const WIDEST = 40;
const NARROWEST = 10;
/** Columns for the number, the time and the words around a bar. */
const MARGIN = 50;

type TimelineLook = { readonly columns: number; readonly note: string | null };

export function timelineLines(paint: Paint, bars: readonly Bar[], { columns, note }: TimelineLook): readonly string[] {
  if (bars.length === 0) return ['no iteration has begun'];
  const width = Math.max(NARROWEST, Math.min(WIDEST, columns - MARGIN));
  const longest = Math.max(1, ...bars.map(lengthOf));
  const rows = bars.flatMap((bar, at) => {
    const before = bars[at - 1];
    const run = before?.of.run === bar.of.run ? [] : [paint.bold(`run ${bar.of.run}`)];
    return [...run, rowOf(paint, bar, { before, width, longest })];
  });
  return [...legendRows(paint, bars, columns), ...(note === null ? [] : [paint.yellow(`! ${note}`)]), ...rows];
}

/** Uses the square root, as the page does: a day must not hide a second. */
const lengthOf = ({ from, to }: Bar): number => Math.sqrt(Math.max(0, to - from));

function legendRows(paint: Paint, bars: readonly Bar[], columns: number): readonly string[] {
  const there = new Set(bars.flatMap(({ segments }) => segments.map(({ kind }) => kind)));
  const names = (Object.keys(LOOKS) as SegmentKind[]).filter((kind) => there.has(kind));
  const entries = names.map((kind) => `${colourSigns(paint, kind, 1)} ${LOOKS[kind][2]}`);
  const scale = 'the length of a bar grows with the square root of its time';
  return wrapLine(`${entries.join('  ')}  ${paint.dim(`(${scale})`)}`, { columns });
}

function colourSigns(paint: Paint, kind: SegmentKind, columns: number): string {
  const [sign, colour] = LOOKS[kind];
  return paint[colour]((paint.on && displayWidth('█') === 1 ? '█' : sign).repeat(columns));
}

type Place = { readonly before: Bar | undefined; readonly width: number; readonly longest: number };

function rowOf(paint: Paint, bar: Bar, { before, width, longest }: Place): string {
  const { of, from, to, died, open, workers } = bar;
  const long = Math.max(1, Math.round((lengthOf(bar) / longest) * width));
  const why = [
    ...of.transitions.map(transitionText),
    ...(of.ended ? [endWords(of.ended.terminal)] : []),
    ...(of.compacted ? ['compacted'] : []),
    ...(died > 0 ? [paint.red(`${formatCount(died, 'attempt')} died`)] : []),
  ];
  const last = workers.at(-1);
  const moved =
    last !== undefined && last !== before?.workers.at(-1) ? [paint.dim(`by ${oneLine(workerName(last), 60)}`)] : [];
  const name = `#${of.iteration}`.padStart(6);
  const time = `${shortTime(to - from)}${open ? ' …' : ''}`.padStart(12);
  return `${name} ${drawBar(paint, bar, long)}${' '.repeat(width - long)} ${time}  ${[...why, ...moved].join(' · ')}`.trimEnd();
}

/** Gives each part its share of the columns, and at least one while there is room. */
function drawBar(paint: Paint, { segments, from, to }: Bar, columns: number): string {
  if (segments.length === 0) return ' '.repeat(columns);
  const total = Math.max(1, to - from);
  const at = (moment: number): number => Math.round(((moment - from) / total) * columns);
  let text = '';
  let done = 0;
  for (const [index, { kind, from: begins, to: ends }] of segments.entries()) {
    const left = segments.length - 1 - index;
    const start = Math.max(done, Math.min(at(begins), columns - 1 - left));
    const end = Math.max(start, Math.min(Math.max(at(ends), start + 1), columns - left));
    text += ' '.repeat(start - done) + colourSigns(paint, kind, end - start);
    done = end;
  }
  return text + ' '.repeat(columns - done);
}
