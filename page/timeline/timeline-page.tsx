// The timeline of a session to the clock: a row for each iteration of a window, with how it spent
// its time, why the loop went round, and who worked on it; below it plots of all iterations. It
// uses the transcript and Temporal's own history.
import { raw } from 'hono/html';
import { reasonOf, showUnseen } from '../../system/text.ts';
import { endWords, isOrdinary, transitionText } from '../../client/faces/words.ts';
import { isUnderWay } from '../../client/faces/lists.ts';
import { formatCount, shortTime } from '../../client/faces/basics.ts';
import type { Bar, Iteration, StepsByName } from '../../client/faces/types.ts';
import {
  barOf,
  workerName,
  iterationName,
  iterationsOf,
  stepsByIteration,
  withUnstored,
  matchAgents,
} from '../../client/faces/turns.ts';
import type { SessionFeed } from '../feed/session-feed.ts';
import { formatNumber } from '../figures.tsx';
import { htmlOf } from '../layout.tsx';
import type { PagePorts } from '../ports.ts';
import { placeIn, SessionShell } from '../session/session-shell.tsx';
import { transitionMeaning } from '../transcript/meanings.ts';
import { agentSegments, barsWithWait } from '../session/lanes.ts';
import { stripWidth, totalsText, ZoomNote } from '../session/minimap.tsx';
import { transcriptFacts } from '../session/session-facts.ts';
import {
  type AgentRow,
  type ClockRow,
  clockScale,
  type ClockScale,
  clockSummaryText,
  columnsOf,
  groupRows,
  rowsOf,
  toolsOf,
} from './clock-rows.ts';
import { linkOf, rowId, PlotList } from './plots.tsx';

/** Bars drawn at once. */
const WINDOW = 200;
/** Bars drawn before the one that a link names. */
const BEFORE = 20;

type TimelineView = {
  readonly at?: string | undefined;
  /** Time in which the session waited takes no room. */
  readonly withoutWaits?: boolean;
};

export async function timelinePage(
  feed: SessionFeed,
  ports: PagePorts,
  { at, withoutWaits = false }: TimelineView,
): Promise<string> {
  const place = placeIn(feed);
  const { seen: description, items, config } = feed.standing;
  const stored = iterationsOf(items.all);
  const window = windowOf(stored, at);
  const { steps, note } = await stepsOf(ports, feed, stored, window);
  const rows = withUnstored(stored.slice(window.from, window.to), steps, window.to === stored.length);
  const now = Date.now();
  const drawn = rows.map((one) => barOf(one, steps.get(iterationName(one)) ?? [], now));
  const bars = window.to === stored.length ? barsWithWait(drawn, description, now) : drawn;
  const whole =
    (description.closedAt ?? (isUnderWay(description) ? now : transcriptFacts(items).endedAt) ?? now) -
    description.startedAt;
  const path = `/sessions/${description.session}/timeline`;
  return htmlOf(
    <SessionShell feed={feed} place={place} ui={ports.temporalUi(description.session)} part="timeline">
      <section id="timeline" aria-label="Timeline" data-fresh>
        <Summary
          bars={bars}
          path={path}
          withoutWaits={withoutWaits}
          note={note}
          window={window}
          of={Math.max(stored.length, window.from + bars.length)}
          whole={whole}
        />
        <PagingLinks path={path} all={stored} window={window} />
        <Waterfall
          bars={bars}
          agents={await agentRows(feed, ports, bars)}
          session={description.session}
          {...{ withoutWaits }}
        />
      </section>
      <section id="plots" aria-label="Plots" data-fresh>
        <PlotList session={description.session} columns={columnsOf(stored)} config={config} />
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
  { standing: { seen: description } }: SessionFeed,
  all: readonly Iteration[],
  { from, to }: Window,
): Promise<Known> {
  let steps: StepsByName = new Map();
  try {
    const until = to < all.length ? (all[to]?.reply?.entry.at ?? null) : null;
    steps = stepsByIteration(await read(description.session, all[from]?.after ?? 0, until));
  } catch (error) {
    return {
      steps,
      note: `Temporal’s history can’t be read (${reasonOf(error)}), so bars come from the transcript.`,
    };
  }
  const known = steps.size > 0 || all.length === 0;
  return {
    steps,
    note: known ? null : 'Temporal no longer has this history, so bars come from the transcript.',
  };
}

/** Agents whose history is read. */
const MOST_AGENTS = 12;

/** Reads how the agents of the drawn iterations spent their time. */
async function agentRows(feed: SessionFeed, ports: PagePorts, bars: readonly Bar[]): Promise<readonly AgentRow[]> {
  const { items, agents } = feed.standing;
  const drawn = new Set(bars.map(({ of }) => iterationName(of).replace('.', '-')));
  const calls = transcriptFacts(items).agents.filter(({ anchor }) =>
    drawn.has(anchor.split('-').slice(0, 2).join('-')),
  );
  const found = matchAgents(calls, agents);
  const pairs = calls.flatMap((call) => {
    const agent = found.get(call.anchor);
    return agent ? [{ call, agent }] : [];
  });
  return Promise.all(
    pairs.slice(-MOST_AGENTS).map(async ({ call, agent }) => ({
      call,
      href: `/sessions/${agent.session}/timeline`,
      segments: agentSegments(agent, await ports.steps(agent.session, 0, null), Date.now()),
    })),
  );
}

type SummaryProps = {
  readonly bars: readonly Bar[];
  readonly path: string;
  readonly withoutWaits: boolean;
  readonly note: string | null;
  readonly window: Window;
  /** Iterations of the whole session, and milliseconds that it took. */
  readonly of: number;
  readonly whole: number;
};

function Summary({ bars, path, withoutWaits, note, window: { from }, of, whole }: SummaryProps) {
  const [first, last] = [bars[0], bars.at(-1)];
  const took = first && last ? Math.max(...bars.map(({ to }) => to)) - first.from : 0;
  const isPart = bars.length < of;
  const count = isPart
    ? `Iterations ${formatNumber(from + 1)}–${formatNumber(from + bars.length)} of ${formatNumber(of)}`
    : formatCount(of, 'iteration');
  return (
    <>
      <div class="row wrap summary">
        <p>
          <b>{`${count}, ${shortTime(took)}${isPart ? ` of ${shortTime(whole)}` : ''}`}</b>{' '}
          <span>{clockSummaryText(bars)}</span>
        </p>
        <ZoomNote />
        <nav class="choice" aria-label="Scale">
          <a href={path} aria-current={withoutWaits ? undefined : 'true'}>
            Wall clock
          </a>
          <a href={`${path}?waits=no`} aria-current={withoutWaits ? 'true' : undefined}>
            Without waits
          </a>
        </nav>
      </div>
      {note === null ? null : <p class="warn">{showUnseen(note)}</p>}
    </>
  );
}

function PagingLinks({
  path,
  all,
  window,
}: {
  readonly path: string;
  readonly all: readonly Iteration[];
  readonly window: Window;
}) {
  const { from, to } = window;
  const earlier = all[Math.max(0, from - WINDOW + BEFORE)];
  const later = all[to];
  if (from === 0 && later === undefined) return null;
  return (
    <p class="more">
      {from === 0 || !earlier ? null : (
        <a href={`${path}?at=${earlier.run}.${earlier.iteration}`}>Earlier iterations</a>
      )}
      {later === undefined ? null : (
        <>
          {' '}
          <a href={`${path}?at=${later.run}.${later.iteration}`}>Later iterations</a> <a href={path}>Newest</a>
        </>
      )}
    </p>
  );
}

type WaterfallProps = {
  readonly bars: readonly Bar[];
  readonly agents: readonly AgentRow[];
  readonly session: string;
  readonly withoutWaits: boolean;
};

function Waterfall({ bars, agents, session, withoutWaits }: WaterfallProps) {
  const [first] = bars;
  if (!first) return <p class="quiet">No iterations yet.</p>;
  const agentsEnd = agents.flatMap(({ segments }) => segments.map(({ to }) => to));
  const to = Math.max(first.from + 1, ...bars.map((bar) => bar.to), ...agentsEnd);
  const waits = bars.flatMap(({ segments }) => segments.filter(({ kind }) => kind === 'waiting' || kind === 'parked'));
  const scale = clockScale(Math.min(...bars.map(({ from }) => from)), to, withoutWaits ? waits : []);
  const groups = groupRows(rowsOf(bars, agents));
  return (
    <div class="card waterfall" id="waterfall" data-moments={momentsText(scale)}>
      <div class="wf-row wf-head">
        <span>Iteration</span>
        <span class="map-axis" aria-hidden="true" />
        <span class="number">Time</span>
      </div>
      <ol>
        {groups.map(({ rows }, at) => {
          const [row] = rows;
          const before = groups[at - 1]?.rows.at(-1)?.bar;
          if (!row) return null;
          return (
            <>
              {before?.of.run === row.bar.of.run ? null : <li class="run-row">{`Run ${row.bar.of.run}`}</li>}
              {rows.length > 1 ? (
                <AlikeRows rows={rows} scale={scale} session={session} />
              ) : (
                raw(htmlOf(<IterationRows row={row} before={before} scale={scale} session={session} />))
              )}
            </>
          );
        })}
      </ol>
    </div>
  );
}

/** The number of steps at which the page is given the time. It interpolates between two. */
const MOMENTS = 100;

const momentsText = (scale: ClockScale): string =>
  Array.from({ length: MOMENTS + 1 }, (_, at) => Math.round(scale.moment(at / MOMENTS))).join(' ');

type RowProps = {
  readonly row: ClockRow;
  readonly before: Bar | undefined;
  readonly scale: ClockScale;
  readonly session: string;
};

/** Several iterations that are alike stand as one, and open to each of them. */
function AlikeRows({
  rows,
  scale,
  session,
}: {
  readonly rows: readonly ClockRow[];
  readonly scale: ClockScale;
  readonly session: string;
}) {
  const [first, last] = [rows[0]?.bar, rows.at(-1)?.bar];
  if (!first || !last) return null;
  const took = rows.reduce((sum, { bar }) => sum + bar.to - bar.from, 0);
  const tools = [...new Set(toolsOf(first.of))].map((name) => showUnseen(name.slice(0, 40))).join(', ');
  return (
    <li>
      <details class="alike" id={`alike-${rowId(first.of)}`}>
        <summary class="wf-row">
          <span class="name">
            {`#${first.of.iteration} – #${last.of.iteration} `}
            <span class="quiet">{tools}</span> <span class="chip tag">{`${rows.length} alike`}</span>
          </span>
          <Strip segments={rows.flatMap(({ bar }) => bar.segments)} scale={scale} />
          <span class="number">{shortTime(took)}</span>
        </summary>
        <ol>
          {rows.map((row, at) => (
            <IterationRows row={row} before={rows[at - 1]?.bar} scale={scale} session={session} />
          ))}
        </ol>
      </details>
    </li>
  );
}

function IterationRows({ row: { bar, below }, before, scale, session }: RowProps) {
  const { of, from, to, died, open, workers } = bar;
  const last = workers.at(-1);
  const moved = last !== undefined && last !== before?.workers.at(-1);
  const transitions = of.transitions.filter((reason) => !isOrdinary(reason));
  const tools = [...new Set(toolsOf(of))].map((name) => showUnseen(name.slice(0, 40))).join(', ');
  return (
    <li id={rowId(of)} class="iteration">
      <div class="wf-row">
        <span class="why">
          <a class="name" href={linkOf(session, of)}>{`#${of.iteration}`}</a> <span class="quiet">{tools}</span>
          {transitions.map((reason) => (
            <span class="badge" title={transitionMeaning(reason)}>
              {transitionText(reason)}
            </span>
          ))}
          {of.ended ? <span class="badge">{endWords(of.ended.terminal)}</span> : null}
          {of.compacted ? <span class="badge">compacted</span> : null}
          {died > 0 ? <span class="badge bad">{`${formatCount(died, 'attempt')} failed`}</span> : null}
          <small class={moved ? 'cut worker moved' : 'worker'} title={workers.map((one) => showUnseen(one)).join('\n')}>
            {last === undefined ? '' : workerName(last)}
          </small>
        </span>
        <Strip segments={bar.segments} scale={scale} />
        <span class="number">{`${shortTime(to - from)}${open ? ' …' : ''}`}</span>
      </div>
      {below.map((sub) => (
        <div class={`wf-row below ${sub.kind}`}>
          <span class="cut" title={showUnseen(sub.words)}>
            {sub.href === null ? showUnseen(sub.words) : <a href={sub.href}>{showUnseen(sub.words)}</a>}
          </span>
          <Strip segments={sub.segments} scale={scale} />
          <span class="number">{shortTime(sub.to - sub.from)}</span>
        </div>
      ))}
    </li>
  );
}

const WIDE = 1_000;

function Strip({ segments, scale }: { readonly segments: Bar['segments']; readonly scale: ClockScale }) {
  const place = (at: number): number => Math.round(scale.place(at) * WIDE * 10) / 10;
  return (
    <svg
      class="strip"
      viewBox={`0 0 ${WIDE} 14`}
      preserveAspectRatio="none"
      role="img"
      aria-label={totalsText(segments) || 'nothing'}
    >
      <path class="grid" />
      {segments.map(({ kind, from, to, what }) => (
        <rect class={kind} x={place(from)} y={2} {...stripWidth(place(to) - place(from), 1.5)} height={10}>
          <title>{showUnseen(what)}</title>
        </rect>
      ))}
    </svg>
  );
}
