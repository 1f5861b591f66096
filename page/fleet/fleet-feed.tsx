// Looks at all sessions, as one view shows them, for as long as it is watched: one look for all
// viewers of the same view.
import { pause } from '../../system/async.ts';
import { reasonOf } from '../../system/text.ts';
import type { WaitingApproval, SessionCounts, SessionPage } from '../../client/faces/types.ts';
import { present } from '../../client/faces/basics.ts';
import { changeRing, frameChanges, type FramePart, type Ring } from '../feed/ring.ts';
import { createTroubles, readWaiting, type Trouble } from '../feed/troubles.ts';
import { sumCounts } from '../frame/frame-state.tsx';
import { formatNumber } from '../figures.tsx';
import { Icon } from '../primitives.tsx';
import { htmlOf } from '../layout.tsx';
import type { PagePorts } from '../ports.ts';
import { Banner } from '../session/frame.tsx';
import { FleetCards, type Plots, plotsOf } from './fleet-cards.tsx';
import {
  type FleetView,
  fleetAddress,
  filterTerms,
  findMeantState,
  readFleetView,
  sortOf,
  type Tab,
  tabs,
  wholeFilter,
} from './fleet-view.ts';
import { type Need, NeedStrip, NEEDS_SHOWN } from './need-strip.tsx';
import {
  byUrgency,
  flatRows,
  groupSessions,
  runEndReader,
  type RunEnds,
  type SessionGroup,
  treeRows,
} from './urgency.ts';
import { GroupRow, groupRowId, sessionRowId, SessionRow } from './session-row.tsx';

type TabCounts = Readonly<Record<Tab, number>> & { readonly note?: string };

/** A page of matching sessions, and how many there are in each tab. */
type Looked = {
  readonly page: SessionPage;
  readonly all: SessionCounts;
  readonly counts: TabCounts;
  readonly waiting: readonly WaitingApproval[];
  readonly needs: readonly Need[];
  readonly plots: Plots;
  readonly ends: RunEnds;
  /** How many match without one of the filter's terms; asked only when none matches with all. */
  readonly without: readonly { readonly term: string; readonly count: number }[];
};

export type FleetFeed = {
  readonly ring: Ring;
  readonly parts: readonly FramePart[];
  readonly view: FleetView;
  readonly next: string | null;
  close(): void;
};

type FleetPorts = Pick<PagePorts, 'page' | 'counts' | 'inbox' | 'describe' | 'fleet' | 'store'>;

/** Milliseconds between looks. */
const LOOK_MS = 2_000;
/** A look that reads every session may take seconds, and is not to keep a processor busy. */
const REST = 3;
const PAGE = 100;

/** Returns for how long the next look waits after one that took so many milliseconds. */
export const restAfter = (took: number): number => Math.max(LOOK_MS, REST * took);

export const FLEET = {
  banners: 'banners',
  cards: 'card-place',
  needs: 'need-place',
  tabs: 'tab-place',
  rows: 'rows',
  notes: 'note-place',
  empty: 'empty-place',
} as const;

/**
 * `query` is that of the address. It looks again only while `isWatched`. Throws ClientProblem for a
 * filter that cannot be read.
 */
export async function openFleetFeed(
  ports: FleetPorts,
  query: string,
  isWatched = (): boolean => true,
): Promise<FleetFeed> {
  const view = readFleetView(new URLSearchParams(query));
  const ring = changeRing();
  const trouble = createTroubles();
  const drawn = new Map<string, string>();
  const stop = new AbortController();
  const titles = new Map<string, string>();
  const readEnds = runEndReader(ports.store);
  const look = async (): Promise<Looked> => {
    const [page, all, counts, everyone] = await Promise.all([
      readRows(ports, view),
      ports.counts(),
      countTabs(ports, view.filter),
      readWaiting(ports, trouble).then(soonestFirst),
    ]);
    ports.fleet.note({ at: Date.now(), counts: all, sessions: page.sessions });
    const waiting = await matchingOf(ports, view.filter, everyone);
    const [needs, history, without, ends] = await Promise.all([
      nameNeeds(ports, titles, waiting.slice(0, NEEDS_SHOWN)),
      ports.fleet.read(view.span),
      page.sessions.length === 0 ? countWithout(ports, view) : [],
      readEnds(page.sessions),
    ]);
    return { page, all, counts, waiting, needs, plots: plotsOf(history), ends, without };
  };
  let looked = await look();
  const draw = (): readonly FramePart[] => fleetParts(looked, trouble.list(), view);
  let parts = draw();
  frameChanges(drawn, parts);
  const goOn = async (): Promise<void> => {
    let took = 0;
    while (await pause(restAfter(took), stop.signal)) {
      if (!isWatched()) continue;
      const startedAt = performance.now();
      try {
        looked = await look();
        trouble.set('server', null);
      } catch (error) {
        trouble.set('server', reasonOf(error));
      }
      took = performance.now() - startedAt;
      parts = draw();
      const changes = frameChanges(drawn, parts);
      if (changes.length === 0) continue;
      ring.push(...changes, {
        do: 'order',
        into: FLEET.rows,
        ids: parts.flatMap(({ id, into }) => (into === FLEET.rows ? [id] : [])),
      });
    }
  };
  void goOn();
  return {
    ring,
    get parts() {
      return parts;
    },
    view,
    get next() {
      return looked.page.next;
    },
    close: () => stop.abort(),
  };
}

/** Where nobody has chosen an order, the most urgent sessions come first. */
const isByUrgency = ({ filter, tab, group, after }: FleetView): boolean =>
  tab === 'all' && group === 'none' && after === null && sortOf(filter) === null;

const URGENT: readonly Tab[] = ['waiting', 'stuck', 'failed', 'working'];

/** Reads a page of the list; the urgent ones are on the first, whenever they began. */
async function readRows(ports: Pick<FleetPorts, 'page'>, view: FleetView): Promise<SessionPage> {
  const read = (filter: string, after?: string): Promise<SessionPage> =>
    ports.page(present({ filter, size: PAGE, after, running: true as const }));
  const page = await read(wholeFilter(view), view.after ?? undefined);
  if (page.next === null || !isByUrgency(view)) return page;
  const urgent = await Promise.all(URGENT.map((tab) => read(wholeFilter({ ...view, tab }))));
  const sessions = [...urgent.flatMap((one) => one.sessions), ...page.sessions];
  return { ...page, sessions: [...new Map(sessions.map((one) => [one.session, one])).values()] };
}

/** Counts the sessions of each tab that the person's own filter leaves. */
async function countTabs({ counts }: Pick<FleetPorts, 'counts'>, filter: string): Promise<TabCounts> {
  const total = async (tab: Tab): Promise<number> => sumCounts(await counts({ filter: wholeFilter({ filter, tab }) }));
  const [phases, stuck, failed] = await Promise.all([counts({ filter }), total('stuck'), total('failed')]);
  return {
    all: sumCounts(phases),
    working: phases.running,
    waiting: phases.waiting_approval,
    stuck,
    failed,
    parked: phases.parked,
    unworked: phases.waiting_worker,
    idle: phases.idle,
    closed: phases.closed,
    ...present({ note: phases.note }),
  };
}

/** Most terms that are left out one by one. */
const MOST_TERMS = 5;

async function countWithout({ counts }: Pick<FleetPorts, 'counts'>, view: FleetView): Promise<Looked['without']> {
  const terms = filterTerms(wholeFilter(view)).filter((term) => !term.startsWith('sort:'));
  const counted = terms.slice(0, MOST_TERMS).map(async (term) => {
    const rest = terms.filter((other) => other !== term).join(' ');
    return { term, count: sumCounts(await counts({ filter: rest })) };
  });
  return (await Promise.all(counted)).filter(({ count }) => count > 0);
}

/** Tells whether a filter leaves sessions out; an order does not. */
const isFiltering = (filter: string): boolean => filterTerms(filter).some((term) => !term.startsWith('sort:'));

/** Most sessions that wait, for which it is asked whether the filter leaves them in. */
const MOST_WAITING = 1_000;

/** Leaves what waits in the sessions that the person's own filter leaves. */
async function matchingOf(
  { page }: Pick<FleetPorts, 'page'>,
  filter: string,
  waiting: readonly WaitingApproval[],
): Promise<readonly WaitingApproval[]> {
  if (waiting.length === 0 || !isFiltering(filter)) return waiting;
  const { sessions } = await page({ filter: wholeFilter({ filter, tab: 'waiting' }), size: MOST_WAITING });
  const matching = new Set<string>(sessions.map(({ session }) => session));
  return waiting.filter(({ session }) => matching.has(session));
}

/** Orders what waits for a person, the most urgent first. */
function soonestFirst(waiting: readonly WaitingApproval[]): readonly WaitingApproval[] {
  return waiting.toSorted((one, other) => one.deadline - other.deadline);
}

async function nameNeeds(
  { describe }: Pick<FleetPorts, 'describe'>,
  titles: Map<string, string>,
  waiting: readonly WaitingApproval[],
): Promise<readonly Need[]> {
  return Promise.all(
    waiting.map(async (approval) => {
      const title = titles.get(approval.session) ?? (await describe(approval.session)).title;
      titles.set(approval.session, title);
      return { approval, title };
    }),
  );
}

function rowGroups({ page: { sessions }, ends }: Looked, view: FleetView, now: number): readonly SessionGroup[] {
  if (view.group !== 'none') return groupSessions(sessions, view.group);
  const rows = view.flat ? flatRows(sessions) : treeRows(sessions);
  return [{ name: '', rows: isByUrgency(view) ? byUrgency(rows, ends, now) : rows }];
}

function fleetParts(looked: Looked, troubles: readonly Trouble[], view: FleetView): readonly FramePart[] {
  const part = (id: string, into: string, node: unknown): FramePart => ({ id, into, html: htmlOf(node) });
  const { counts, waiting, needs, plots, ends } = looked;
  const now = Date.now();
  return [
    ...troubles.map((trouble) => part(`trouble-${trouble.kind}`, FLEET.banners, <Banner trouble={trouble} />)),
    part(
      'cards',
      FLEET.cards,
      <FleetCards
        working={counts.working}
        of={counts.all}
        waiting={waiting}
        plots={plots}
        span={view.span}
        isFiltered={isFiltering(view.filter)}
      />,
    ),
    part('needs', FLEET.needs, <NeedStrip needs={needs} waiting={waiting} />),
    part('tabs', FLEET.tabs, <Tabs counts={counts} view={view} />),
    ...rowGroups(looked, view, now).flatMap(({ name, rows }) => [
      ...(view.group === 'none' ? [] : [part(groupRowId(name), FLEET.rows, <GroupRow name={name} rows={rows} />)]),
      ...rows.map((row) =>
        part(sessionRowId(row.session.session), FLEET.rows, <SessionRow row={row} now={now} ends={ends} />),
      ),
    ]),
    part('notes', FLEET.notes, <Notes looked={looked} />),
    part('empty', FLEET.empty, <EmptyState looked={looked} view={view} />),
  ];
}

function Tabs({ counts, view }: { readonly counts: TabCounts; readonly view: FleetView }) {
  return (
    <nav id="tabs" class="tabs" aria-label="Sessions by state">
      {(Object.keys(tabs) as Tab[]).map((tab) => (
        <a href={fleetAddress(view, { tab })} aria-current={view.tab === tab ? 'page' : undefined} data-tab={tab}>
          {tabs[tab][0]} <span class="count">{formatNumber(counts[tab])}</span>
        </a>
      ))}
    </nav>
  );
}

/** Says what was left out of a look at very many sessions, and what makes it whole. */
function Notes({ looked: { page, counts } }: { readonly looked: Looked }) {
  const isSearch = page.next !== null && page.sessions.length < PAGE;
  const notes = new Set([page.note, counts.note, isSearch ? SEARCHED : undefined].filter((note) => note !== undefined));
  return notes.size === 0 ? (
    <div id="notes" hidden />
  ) : (
    <p id="notes" role="status">
      <small>{[...notes].join('; ')}</small>
    </p>
  );
}

const SEARCHED =
  'the newest sessions were searched so far, for the server knows no titles: narrow the filter (phase:, tag:, age<), or go on to older ones';

function EmptyState({ looked: { page, all, without }, view }: { readonly looked: Looked; readonly view: FleetView }) {
  if (page.sessions.length > 0) return <div id="empty" hidden />;
  if (sumCounts(all) === 0)
    return (
      <div id="empty" class="card empty">
        <Icon name="sessions" />
        <b>No sessions yet</b>
        <p>
          Start an agent here, or run <code>perdure run "…"</code>.
        </p>
        <button type="button" class="first" data-needs="steer" data-opens="new-task" aria-haspopup="dialog">
          <Icon name="plus" />
          New task
        </button>
      </div>
    );
  const filter = wholeFilter(view);
  const meant = findMeantState(view.filter);
  return (
    <div id="empty" class="card empty">
      <Icon name="search" />
      <b>No sessions match this filter</b>
      {filter === '' ? null : (
        <p>
          <code>{filter}</code>
        </p>
      )}
      {meant === undefined ? null : (
        <p>
          Did you mean <code>{meant}</code>?
        </p>
      )}
      {without.map(({ term, count }) => (
        <p>
          {count === 1 ? '1 matches without ' : `${formatNumber(count)} match without `}
          <a href={fleetAddress(view, leftOut(view, term))}>
            <code>{term}</code>
          </a>
        </p>
      ))}
      <a class="button" href="/">
        All sessions
      </a>
    </div>
  );
}

/** A term is the person's own, or comes with the tab. */
function leftOut({ filter }: FleetView, term: string): Partial<FleetView> {
  const terms = filterTerms(filter);
  if (!terms.includes(term)) return { tab: 'all' };
  return { filter: terms.filter((other) => other !== term).join(' ') };
}
