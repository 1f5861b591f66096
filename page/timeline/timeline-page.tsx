// The timeline of a session: a bar for each iteration of a window, with how it spent its time, why
// the loop went round, and who worked on it; above it plots of all iterations. It uses the
// transcript and Temporal's own history.
import { raw } from 'hono/html';
import { reasonOf, showUnseen } from '../../system/text.ts';
import { reasonText, transitionText } from '../../client/render/words.ts';
import { formatCount, shortTime } from '../../client/units.ts';
import type { SessionFeed } from '../feed/session-feed.ts';
import { htmlOf } from '../layout.tsx';
import type { PagePorts } from '../ports.ts';
import { placeIn, SessionShell } from '../session/session-shell.tsx';
import { transitionMeaning } from '../transcript/meanings.ts';
import { type Bar, barOf, type SegmentKind, workerName } from '../../client/sessions/history/bars.ts';
import { columnsOf } from './columns.ts';
import {
  type Iteration,
  iterationName,
  iterationsOf,
  stepsByIteration,
  type StepsByName,
  withUnstored,
} from '../../client/sessions/history/iterations.ts';
import { linkOf, rowId } from './links.ts';
import { PlotList } from './plots.tsx';

/** Bars drawn at once. */
const WINDOW = 200;
/** Bars drawn before the one that a link names. */
const BEFORE = 20;

export async function timelinePage(feed: SessionFeed, ports: PagePorts, at: string | undefined): Promise<string> {
  const place = placeIn(feed);
  const { seen, items, config } = feed.standing;
  const stored = iterationsOf(items.all);
  const shown = windowOf(stored, at);
  const { steps, note } = await stepsOf(ports, feed, stored, shown);
  const rows = withUnstored(stored.slice(shown.from, shown.to), steps, shown.to === stored.length);
  const bars = rows.map((one) => barOf(one, steps.get(iterationName(one)) ?? [], Date.now()));
  const path = `/sessions/${seen.session}/timeline`;
  return htmlOf(
    <SessionShell feed={feed} place={place} ui={ports.temporalUi(seen.session)} part="timeline">
      <section id="plots" aria-label="Plots" data-fresh>
        <PlotList session={seen.session} columns={columnsOf(stored)} config={config} />
      </section>
      <section id="timeline" aria-label="Timeline" data-fresh>
        <BarLegend note={note} />
        <PagingLinks path={path} all={stored} shown={shown} />
        <BarList bars={bars} session={seen.session} />
      </section>
    </SessionShell>,
  );
}

type Window = { readonly from: number; readonly to: number };

function windowOf(all: readonly Iteration[], at: string | undefined): Window {
  const named = /^(\d{1,9})\.(\d{1,9})$/.exec(at ?? '');
  const found = named
    ? all.findIndex(({ run, iteration }) => run === Number(named[1]) && iteration === Number(named[2]))
    : -1;
  if (found < 0) return { from: Math.max(0, all.length - WINDOW), to: all.length };
  const from = Math.max(0, found - BEFORE);
  return { from, to: Math.min(all.length, from + WINDOW) };
}

type Known = { readonly steps: StepsByName; readonly note: string | null };

async function stepsOf(
  { steps: read }: PagePorts,
  { standing: { seen } }: SessionFeed,
  all: readonly Iteration[],
  { from, to }: Window,
): Promise<Known> {
  let steps: StepsByName = new Map();
  try {
    const until = to < all.length ? (all[to]?.reply?.entry.at ?? null) : null;
    steps = stepsByIteration(await read(seen.session, all[from]?.after ?? 0, until));
  } catch (error) {
    return {
      steps,
      note: `Temporal’s history cannot be read (${reasonOf(error)}): bars show what the transcript knows.`,
    };
  }
  const known = steps.size > 0 || all.length === 0;
  return {
    steps,
    note: known ? null : 'Temporal no longer has the history of these: bars show what the transcript knows.',
  };
}

const names: readonly (readonly [SegmentKind, string])[] = [
  ['model', 'model'],
  ['tools', 'tools'],
  ['context', 'compaction'],
  ['other', 'hooks'],
  ['waiting', 'waits for a person'],
  ['parked', 'parked'],
  ['gap', 'nobody: dead attempts, no worker'],
];

function BarLegend({ note }: { readonly note: string | null }) {
  return (
    <>
      <ul class="legend" aria-label="Colours of the bars">
        {names.map(([kind, name]) => (
          <li class={`key ${kind}`}>{name}</li>
        ))}
      </ul>
      <p class="quiet scale">
        The length of a bar grows with the square root of its time; its parts are in proportion.
      </p>
      {note === null ? null : <p class="warn">{showUnseen(note)}</p>}
    </>
  );
}

function PagingLinks({
  path,
  all,
  shown,
}: {
  readonly path: string;
  readonly all: readonly Iteration[];
  readonly shown: Window;
}) {
  const { from, to } = shown;
  const earlier = all[Math.max(0, from - WINDOW + BEFORE)];
  const later = all[to];
  if (from === 0 && later === undefined) return null;
  return (
    <p class="more">
      {from === 0 || !earlier ? null : (
        <a href={`${path}?at=${earlier.run}.${earlier.iteration}`}>Earlier iterations</a>
      )}
      {` ${from + 1} to ${to} of ${all.length.toLocaleString('en')} `}
      {later === undefined ? null : <a href={`${path}?at=${later.run}.${later.iteration}`}>Later</a>}
      {later === undefined ? null : <a href={path}>Newest</a>}
    </p>
  );
}

function BarList({ bars, session }: { readonly bars: readonly Bar[]; readonly session: string }) {
  if (bars.length === 0) return <p class="quiet">No iteration has begun.</p>;
  const longest = Math.max(1, ...bars.map(lengthOf));
  return (
    <ol class="timeline">
      {bars.map((bar, at) => (
        <>
          {bars[at - 1]?.of.run === bar.of.run ? null : <li class="run">{`Run ${bar.of.run}`}</li>}
          {raw(htmlOf(<IterationRow bar={bar} before={bars[at - 1]} longest={longest} session={session} />))}
        </>
      ))}
    </ol>
  );
}

const lengthOf = ({ from, to }: Bar): number => Math.sqrt(Math.max(0, to - from));

type RowProps = {
  readonly bar: Bar;
  readonly before: Bar | undefined;
  readonly longest: number;
  readonly session: string;
};

function IterationRow({ bar, before, longest, session }: RowProps) {
  const { of, from, to, died, open, workers } = bar;
  const [last] = workers.slice(-1);
  const moved = last !== undefined && last !== before?.workers.at(-1);
  return (
    <li id={rowId(of)} class="iteration">
      <a class="name" href={linkOf(session, of)}>{`#${of.iteration}`}</a>
      <a class="span" href={linkOf(session, of)} tabindex={-1} aria-hidden="true">
        <BarShape bar={bar} longest={longest} />
      </a>
      <span class="time">{`${shortTime(to - from)}${open ? ' …' : ''}`}</span>
      <span class="why">
        {of.transitions.map((reason) => (
          <span class="badge" title={transitionMeaning(reason)}>
            {transitionText(reason)}
          </span>
        ))}
        {of.ended ? <span class="badge">{reasonText(of.ended.terminal.reason)}</span> : null}
        {of.compacted ? <span class="badge">compacted</span> : null}
        {died > 0 ? <span class="badge bad">{`${formatCount(died, 'attempt')} died`}</span> : null}
      </span>
      <small class={moved ? 'worker moved' : 'worker'} title={workers.map((one) => showUnseen(one)).join('\n')}>
        {last === undefined ? '' : workerName(last)}
      </small>
    </li>
  );
}

function BarShape({ bar: { segments, from, to }, longest }: { readonly bar: Bar; readonly longest: number }) {
  const total = Math.max(1, to - from);
  const scale = (lengthOf({ from, to } as Bar) / longest) * 1_000;
  const place = (at: number): number => Math.round(((at - from) / total) * scale * 10) / 10;
  return (
    <svg viewBox="0 0 1000 10" preserveAspectRatio="none">
      {segments.map(({ kind, from: begin, to: end, what }) => (
        <rect class={kind} x={place(begin)} y={0} width={Math.max(1, place(end) - place(begin))} height={10}>
          <title>{showUnseen(what)}</title>
        </rect>
      ))}
    </svg>
  );
}
