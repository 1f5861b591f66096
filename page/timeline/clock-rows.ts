// Arranges the bars of a timeline into rows to the clock: iterations, below them the attempts that
// failed and the agents of their calls; iterations that are alike are folded. Pure.
// Sums iterations into columns of a plot: few enough to draw, each for as many iterations as
// needed. Pure.
import { shortTime } from '../../client/faces/basics.ts';
import { addSpend, noSpend, totalTokens } from '../../client/faces/contract.ts';
import { iterationName, workerName } from '../../client/faces/turns.ts';
import type { AgentCallRecord, Bar, BarSegment, Iteration, SegmentKind, Spend } from '../../client/faces/types.ts';
import { isOrdinary } from '../../client/faces/words.ts';

type SubRow = {
  readonly kind: 'attempt' | 'wait' | 'agent';
  readonly words: string;
  readonly href: string | null;
  readonly segments: readonly BarSegment[];
  readonly from: number;
  readonly to: number;
};

export type ClockRow = { readonly bar: Bar; readonly below: readonly SubRow[] };

/** Several rows stand for one where they are alike. */
type RowGroup = { readonly rows: readonly ClockRow[] };

/** Rows that are alike, before they are folded. */
const LEAST_ALIKE = 3;
/** A wait of a person that has a row of its own. */
const LONG_WAIT_MS = 5_000;

export type AgentRow = {
  readonly call: AgentCallRecord;
  readonly href: string;
  readonly segments: readonly BarSegment[];
};

export function rowsOf(bars: readonly Bar[], agents: readonly AgentRow[]): readonly ClockRow[] {
  return bars.map((bar) => {
    const name = iterationName(bar.of).replace('.', '-');
    const own = agents.filter(({ call }) => call.anchor.startsWith(`${name}-`)).map(agentRow);
    return { bar, below: [...own, ...waitRows(bar), ...attemptRows(bar)] };
  });
}

function agentRow({ call, href, segments }: AgentRow): SubRow {
  const from = segments[0]?.from ?? call.at;
  const to = Math.max(from, ...segments.map((each) => each.to));
  return { kind: 'agent', words: `agent · ${call.title}`, href, segments, from, to };
}

function waitRows({ segments }: Bar): readonly SubRow[] {
  return segments
    .filter(({ kind, from, to }) => kind === 'waiting' && to - from >= LONG_WAIT_MS)
    .map((segment) => ({
      kind: 'wait',
      words: 'waited for a person',
      href: null,
      segments: [segment],
      from: segment.from,
      to: segment.to,
    }));
}

/** Attempts that failed have a row with their cause, and the one that counts has its worker. */
function attemptRows({ segments, died, workers }: Bar): readonly SubRow[] {
  if (died === 0) return [];
  const failed = segments.filter(({ kind }) => kind === 'retry' || kind === 'lost' || kind === 'gap');
  const rows: SubRow[] = failed.map((segment) => ({
    kind: 'attempt',
    words: segment.what,
    href: null,
    segments: [segment],
    from: segment.from,
    to: segment.to,
  }));
  const end = Math.max(...failed.map(({ to }) => to), 0);
  const after = segments.filter(({ from, kind }) => from >= end && kind !== 'waiting' && kind !== 'parked');
  const [first, last] = [after[0], after.at(-1)];
  const worker = workers.at(-1);
  if (first && last && worker !== undefined)
    rows.push({
      kind: 'attempt',
      words: `attempt ${died + 1} on ${workerName(worker)}`,
      href: null,
      segments: after,
      from: first.from,
      to: last.to,
    });
  return rows;
}

/** Folds neighbours that differ in nothing a person would look for. */
export function groupRows(rows: readonly ClockRow[]): readonly RowGroup[] {
  const groups: ClockRow[][] = [];
  for (const row of rows) {
    const last = groups.at(-1);
    const like = likeness(row);
    if (last && like !== null && last[0] && likeness(last[0]) === like) last.push(row);
    else groups.push([row]);
  }
  return groups.flatMap((group) =>
    group.length >= LEAST_ALIKE ? [{ rows: group }] : group.map((row) => ({ rows: [row] })),
  );
}

/** Returns a key of rows that are drawn as one; null where something waited, failed or ended. */
function likeness({ bar: { of, segments, died, open }, below }: ClockRow): string | null {
  const isOdd = segments.some(({ kind }) => !['model', 'tools', 'other', 'queue'].includes(kind));
  const hasReason = of.transitions.some((reason) => !isOrdinary(reason));
  if (isOdd || hasReason || died > 0 || open || of.compacted || of.ended !== null || below.length > 0) return null;
  const tools = new Set(toolsOf(of));
  return `${of.run} ${[...tools].toSorted().join(' ')}`;
}

export function toolsOf({ reply }: Bar['of']): readonly string[] {
  return reply?.entry.message.content.flatMap((block) => (block.type === 'tool_use' ? [block.name] : [])) ?? [];
}

/** Milliseconds that each kind took. */
function timeByKind(bars: readonly Pick<Bar, 'segments'>[]): ReadonlyMap<SegmentKind, number> {
  const times = new Map<SegmentKind, number>();
  for (const { segments } of bars)
    for (const { kind, from, to } of segments) times.set(kind, (times.get(kind) ?? 0) + to - from);
  return times;
}

const SUMMED: readonly (readonly [SegmentKind, string])[] = [
  ['waiting', 'waited for people'],
  ['parked', 'parked'],
  ['model', 'model'],
  ['tools', 'tools'],
  ['context', 'compaction'],
  ['retry', 'failed and tried again'],
  ['queue', 'waited for a worker'],
  ['lost', 'lost with a worker'],
  ['gap', 'no worker'],
];

/** Says what the time went to, what is longest first: `waited for people 13 min, model 2 min`. */
export function clockSummaryText(bars: readonly Pick<Bar, 'segments'>[]): string {
  const times = timeByKind(bars);
  return SUMMED.map(([kind, name]) => ({ name, time: times.get(kind) ?? 0 }))
    .filter(({ time }) => time > 0)
    .toSorted((one, other) => other.time - one.time)
    .map(({ name, time }) => `${name} ${shortTime(time)}`)
    .join(' · ');
}

export type ClockScale = {
  readonly from: number;
  readonly to: number;
  /** Returns the place of a moment, from 0 to 1. */
  place(moment: number): number;
  /** Returns the moment at a place. */
  moment(place: number): number;
};

/** Maps the clock to the width; with `without` these stretches take no room. */
export function clockScale(from: number, to: number, without: readonly BarSegment[] = []): ClockScale {
  const cuts = mergeStretches(without.filter((cut) => cut.to > from && cut.from < to));
  const cutBefore = (moment: number): number =>
    cuts.reduce((sum, cut) => sum + Math.max(0, Math.min(moment, cut.to) - cut.from), 0);
  const total = Math.max(1, to - from - cutBefore(to));
  const moment = (place: number): number => {
    let at = from + place * total;
    for (const cut of cuts) if (cut.from < at) at += cut.to - cut.from;
    return Math.min(to, at);
  };
  return {
    from,
    to,
    place: (at) => Math.max(0, Math.min(1, (at - from - cutBefore(at)) / total)),
    moment,
  };
}

type Stretch = { readonly from: number; readonly to: number };

function mergeStretches(stretches: readonly Stretch[]): readonly Stretch[] {
  const merged: Stretch[] = [];
  for (const { from, to } of stretches.toSorted((one, other) => one.from - other.from)) {
    const last = merged.at(-1);
    if (last && from <= last.to) merged[merged.length - 1] = { from: last.from, to: Math.max(last.to, to) };
    else merged.push({ from, to });
  }
  return merged;
}

export type Column = {
  readonly first: Iteration;
  readonly last: Iteration;
  /** Most tokens that the context had. */
  readonly context: number;
  readonly tokens: number;
  /** US dollars; null when a price is not known. */
  readonly usd: number | null;
  /** Tokens of the run so far. */
  readonly runTokens: number;
  readonly runUsd: number | null;
  /** Share of the prompts' tokens that came from the cache; null without any. */
  readonly cached: number | null;
  readonly compactions: number;
};

const MOST = 240;

export function columnsOf(iterations: readonly Iteration[], most = MOST): readonly Column[] {
  const stored = iterations.filter(({ reply }) => reply !== null);
  const size = Math.max(1, Math.ceil(stored.length / most));
  const columns: Column[] = [];
  let sum: { readonly run: number; readonly spend: Spend } = { run: 0, spend: noSpend };
  for (let from = 0; from < stored.length; from += size) {
    const those = stored.slice(from, from + size);
    for (const { run, reply } of those)
      sum = { run, spend: addSpend(sum.run === run ? sum.spend : noSpend, reply?.entry.spend ?? noSpend) };
    const column = columnOf(those, sum.spend);
    if (column) columns.push(column);
  }
  return columns;
}

function columnOf(those: readonly Iteration[], run: Spend): Column | null {
  const [first, last] = [those[0], those.at(-1)];
  if (!first || !last) return null;
  const spends = those.flatMap(({ reply }) => reply?.entry.spend ?? []);
  const { usage, usd } = spends.reduce(addSpend, noSpend);
  const prompts = usage.input + usage.cacheRead + usage.cacheWrite;
  return {
    first,
    last,
    context: Math.max(...spends.map((spend) => totalTokens(spend.usage))),
    tokens: totalTokens(usage),
    usd,
    runTokens: totalTokens(run.usage),
    runUsd: run.usd,
    cached: prompts === 0 ? null : usage.cacheRead / prompts,
    compactions: those.filter(({ compacted }) => compacted).length,
  };
}
