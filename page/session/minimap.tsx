// Draws the minimap of a session: a lane for it and for each of its agents, to the clock. The page
// first has what the transcript knows; what Temporal's history knows takes its place.
import { showUnseen } from '../../system/text.ts';
import { shortTime } from '../../client/faces/basics.ts';
import { iterationsOf } from '../../client/faces/turns.ts';
import type { Step, SegmentKind } from '../../client/faces/types.ts';
import type { SessionFeed } from '../feed/session-feed.ts';
import type { Standing } from '../feed/standing.tsx';
import type { PagePorts } from '../ports.ts';
import { type Lane, type Lanes, lanesOf, MOST_LANES } from './lanes.ts';
import { transcriptFacts } from './session-facts.ts';

/** Newest iterations whose history is read; older ones are drawn from the transcript. */
const HISTORY = 200;
const WIDE = 1_000;

const KINDS: readonly (readonly [SegmentKind, string])[] = [
  ['model', 'model'],
  ['tools', 'tools'],
  ['context', 'compaction'],
  ['waiting', 'waits for a person'],
  ['parked', 'parked'],
  ['queue', 'waits for a worker'],
  ['retry', 'failed, tried again'],
  ['lost', 'lost with a worker'],
  ['gap', 'no worker'],
];

/** The place of the minimap; it has its height from the beginning, so that nothing moves. */
export function MapFrame({ standing }: { readonly standing: Standing }) {
  const { seen: description, items, agents } = standing;
  const lanes = lanesOf({
    seen: description,
    iterations: iterationsOf(items.all),
    steps: [],
    agents,
    stepsOfAgents: new Map(),
    now: Date.now(),
  });
  const expected = Math.min(MOST_LANES, Math.max(agents.length, transcriptFacts(items).agents.length));
  return (
    <section id="map" class="map" aria-label="To the clock" data-map={`/sessions/${description.session}/map`}>
      <MapBody lanes={lanes} room={expected} />
    </section>
  );
}

type MapProps = {
  readonly lanes: Lanes;
  /** Lanes of agents to leave room for: the map keeps its height when they come. */
  readonly room?: number;
};

export function MapBody({ lanes: { from, to, lanes }, room = 0 }: MapProps) {
  return (
    <div class="map-body" id="map-body" data-moments={`${Math.round(from)} ${Math.round(to)}`}>
      {lanes.map((lane, at) => (
        <LaneRow lane={lane} from={from} to={to} isRoot={at === 0} />
      ))}
      {Array.from({ length: Math.max(0, room + 1 - lanes.length) }, () => (
        <div class="lane" aria-hidden="true" />
      ))}
      <div class="map-axis" aria-hidden="true" />
      <ul class="row wrap legend" aria-label="Colours">
        {KINDS.filter(([kind]) => lanes.some(({ segments }) => segments.some((one) => one.kind === kind))).map(
          ([kind, name]) => (
            <li class={`key ${kind}`}>{name}</li>
          ),
        )}
        <li class="far">
          <ZoomNote />
        </li>
      </ul>
    </div>
  );
}

/** Says how to zoom, and takes it back. */
export function ZoomNote() {
  return (
    <span class="zoom-note quiet cut">
      <span>drag to zoom</span>
      <button type="button" class="plain" data-unzoom>
        <kbd>z</kbd> all
      </button>
    </span>
  );
}

type RowProps = { readonly lane: Lane; readonly from: number; readonly to: number; readonly isRoot: boolean };

function LaneRow({ lane: { name, href, segments }, from, to, isRoot }: RowProps) {
  const at = (moment: number): number => Math.round(((moment - from) / (to - from)) * WIDE * 10) / 10;
  const height = isRoot ? 16 : 12;
  return (
    <div class={isRoot ? 'lane root' : 'lane'}>
      {href === null ? (
        <span class="cut">{name}</span>
      ) : (
        <a class="cut" href={href} title={showUnseen(name)}>
          {`↳ ${showUnseen(name.slice(0, 80))}`}
        </a>
      )}
      <svg
        class="strip"
        viewBox={`0 0 ${WIDE} ${height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={totalsText(segments) || 'nothing yet'}
      >
        <rect class="track" width={WIDE} height={height} />
        {segments.map(({ kind, from: begin, to: end, what }) => (
          <rect
            class={kind}
            x={at(begin)}
            y={kind === 'context' ? 0 : 2}
            {...stripWidth(at(end) - at(begin), 1)}
            height={kind === 'context' ? height : height - 4}
          >
            <title>{showUnseen(what)}</title>
          </rect>
        ))}
        {isRoot ? <rect class="view" x={0} y={0} width={0} height={height} /> : null}
      </svg>
    </div>
  );
}

/** A part that would be too short to be seen is wider; its own width is kept for a zoom. */
export function stripWidth(wide: number, least: number): { readonly width: number; readonly 'data-wide'?: string } {
  const width = Math.round(wide * 10) / 10;
  return width >= least ? { width } : { width: least, 'data-wide': String(Math.round(wide * 1_000) / 1_000) };
}

/** Says how long each kind took, for people who do not see the drawing. */
export function totalsText(segments: readonly { readonly kind: string; readonly from: number; readonly to: number }[]) {
  return KINDS.flatMap(([kind, name]) => {
    const time = segments.reduce((sum, each) => (each.kind === kind ? sum + each.to - each.from : sum), 0);
    return time > 0 ? [`${name} ${shortTime(time)}`] : [];
  }).join(', ');
}

/** Reads the history of the newest iterations and of the agents that are drawn. */
export async function readLanes(feed: SessionFeed, ports: PagePorts): Promise<Lanes> {
  const { seen: description, items, agents } = feed.standing;
  const iterations = iterationsOf(items.all);
  const since = iterations.at(-HISTORY)?.after ?? 0;
  const visible = agents.toSorted((one, other) => one.startedAt - other.startedAt).slice(-MOST_LANES);
  const [steps, ...ofAgents] = await Promise.all([
    ports.steps(description.session, since, null),
    ...visible.map(({ session }) => ports.steps(session, 0, null)),
  ]);
  const stepsOfAgents = new Map<string, readonly Step[]>(
    visible.map(({ session }, at) => [session, ofAgents[at] ?? []] as const),
  );
  return lanesOf({ seen: description, iterations, steps, agents, stepsOfAgents, now: Date.now() });
}
