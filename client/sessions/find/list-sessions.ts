// Finds sessions: visibility narrows the search if the server has the attributes, and memos decide.
// A page's cursor holds everything needed to go on, so any process can continue (O3).
import type { Client } from '@temporalio/client';
import type { Abortable } from '../../async.ts';
import { ClientProblem } from '../../problem.ts';
import type { SessionInfo } from '../info.ts';
import { lookAtRunning, type ReadRunning } from '../running/read-running.ts';
import { compileFilter, type Compiled } from './compile-filter.ts';
import { isMeant, matchesFilter, querySettled, SETTLED, settledQuery, sortSessions } from './match-session.ts';
import {
  newestFirst,
  type OrderPlace,
  type Placed,
  type ReadAll,
  type ReadUnderWay,
  SERVER_PAGE,
  type Stream,
  streamSessions,
  toOrderPlace,
} from './stream-sessions.ts';
import { type Filter, parseFilter } from './parse-filter.ts';
import type { SessionId } from '../../../workflows/contract/ids.ts';
import { present } from '../../../workflows/contract/present.ts';

export type ListOptions = Abortable & {
  /** Only sessions that are not closed. */
  readonly open?: boolean;
  /**
   * A query such as `phase:waiting cost>1 -tag:team=web "text" sort:-cost`. A mistake throws
   * ClientProblem `refused` with its place.
   */
  readonly filter?: string;
  /**
   * Looks at the sessions that have a run under way: their numbers are as of now instead of their
   * last handover, and each has `running`. What cannot be read in two seconds is left as it is. A
   * filter or order by `idle` looks by itself.
   */
  readonly running?: boolean;
};

/** `size` is at most 1,000 and defaults to 50. `after` is the `next` of the page before. */
export type PageOptions = ListOptions & { readonly size?: number; readonly after?: string };

export type SessionPage = {
  readonly sessions: readonly SessionInfo[];
  /**
   * Cursor of the next page; null on the last. A page may hold fewer than `size` sessions, even
   * none, and still have a next one.
   */
  readonly next: string | null;
  /** A sentence that says why this was slower or is less than it could be. */
  readonly note?: string;
};

export type Finder = {
  readonly temporal: Client;
  readonly visibility: () => Promise<boolean>;
  /** Returns the session with the phase that an observer sees. */
  readonly observePhase: (session: SessionInfo) => Promise<SessionInfo>;
  readonly readRunning: ReadRunning;
  readonly readUnderWay: ReadUnderWay;
  /** Present where lists and counts of one moment share what they read. */
  readonly readAll?: ReadAll;
};

/**
 * Most sessions that are read for a sorted list, which needs all of them, and for one page of an
 * unsorted one.
 */
const MOST_SORTED = 10_000;
const MOST_SCANNED = 5_000;
const PAGE = 50;
const LARGEST_PAGE = 1_000;

const NO_ATTRIBUTES = 'the server lacks search attributes, so that every session is read: `perdure setup` adds them';
const SORT_CUT = `only the newest ${MOST_SORTED.toLocaleString('en')} sessions were sorted: narrow the filter`;

export type SearchPlan = {
  readonly filter: Filter;
  readonly compiled: Compiled;
  /** The same for closed sessions, whose numbers no longer change. */
  readonly closed: Compiled;
  readonly now: number;
  readonly note?: string;
  /** Whether the server has the search attributes, where they matter. */
  readonly attributes: boolean;
  /** Running sessions are looked at before the filter decides. */
  readonly looks: boolean;
  /** Only open sessions match. */
  readonly isOpen: boolean;
};

type Wanted = Omit<ListOptions, 'signal'> & {
  /** Only sessions with something that waits for a person; others too if the server cannot tell. */
  readonly waiting?: boolean;
};

export async function planSearch(
  { visibility }: Finder,
  { open, waiting, running = false, filter: text = '' }: Wanted,
): Promise<SearchPlan> {
  const filter = parseFilter(text);
  const byIdle =
    filter.sort?.field === 'idle' || filter.terms.some((term) => term.kind === 'field' && term.field === 'idle');
  const looks = byIdle || (running && needsNumbers(filter));
  const now = Date.now();
  const attributes = (filter.terms.length > 0 || waiting === true) && (await visibility());
  const compiled = compileFilter(filter, { attributes, open, waiting, now, looks });
  const closed = looks ? compileFilter(filter, { attributes, open, waiting, now }) : compiled;
  const slow = filter.terms.length > 0 && !attributes;
  return present({
    filter,
    compiled,
    closed,
    now,
    attributes,
    looks,
    isOpen: open === true,
    note: slow ? NO_ATTRIBUTES : undefined,
  });
}

/** Fields of a session under way that its memo has as of its last handover. */
const NUMBERS: ReadonlySet<string> = new Set(['turns', 'tokens', 'cost', 'model']);

/** Tells whether a filter looks for numbers of a run under way, or sorts by them. */
function needsNumbers({ sort, terms }: Filter): boolean {
  return (
    (sort !== undefined && NUMBERS.has(sort.field)) ||
    terms.some((term) => term.kind === 'field' && NUMBERS.has(term.field))
  );
}

/** Collects items in groups: a look at many sessions at once is quicker than many looks. */
async function* inGroups<Item>(items: AsyncIterable<Item>, size: number): AsyncIterable<readonly Item[]> {
  let group: Item[] = [];
  for await (const item of items) {
    group.push(item);
    if (group.length < size) continue;
    yield group;
    group = [];
  }
  if (group.length > 0) yield group;
}

/** Yields sessions newest first, or in the filter's order. */
export async function* listSessions(finder: Finder, options: Wanted): AsyncIterable<SessionInfo> {
  const plan = await planSearch(finder, options);
  const found = plan.filter.sort === undefined ? newestSessions(finder, plan) : streamSorted(finder, plan);
  if (!options.running || plan.looks) yield* found;
  else for await (const group of inGroups(found, SERVER_PAGE)) yield* await lookAtRunning(finder.readRunning, group);
}

async function* newestSessions(finder: Finder, plan: SearchPlan): AsyncIterable<SessionInfo> {
  for await (const { items } of newestFirst(streamsOf(finder, plan, SERVER_PAGE)))
    yield* await matching(
      finder,
      plan,
      items.map(({ item }) => item),
    );
}

/** Returns those of the sessions, as an observer sees them, that the filter means. */
export async function matching(
  { observePhase, readRunning }: Finder,
  { filter, looks, now }: SearchPlan,
  sessions: readonly SessionInfo[],
): Promise<readonly SessionInfo[]> {
  const observed = await Promise.all(sessions.map(observePhase));
  const looked = looks ? await lookAtRunning(readRunning, observed) : observed;
  return looked.filter((session) => matchesFilter(filter, session, now));
}

async function* streamSorted(finder: Finder, plan: SearchPlan): AsyncIterable<SessionInfo> {
  yield* (await collectSorted(finder, plan)).sessions;
}

/** `read`: how many were looked at for those of them that match. */
type MatchingGroup = { readonly read: number; readonly sessions: readonly SessionInfo[] };

/** Yields all that match, in no order but that open ones come first. */
export async function* matchingGroups(finder: Finder, plan: SearchPlan): AsyncIterable<MatchingGroup> {
  // A session may close between two reads.
  const yielded = new Set<SessionId>();
  for (const stream of streamsOf(finder, plan, null))
    for await (const placed of stream) {
      const sessions = placed.map(({ item }) => item).filter(({ session }) => !yielded.has(session));
      for (const { session } of sessions) yielded.add(session);
      yield { read: placed.length, sessions: await matching(finder, plan, sessions) };
    }
}

async function collectSorted(
  finder: Finder,
  plan: SearchPlan,
): Promise<{ readonly sessions: readonly SessionInfo[]; readonly cut: boolean }> {
  const found: SessionInfo[] = [];
  for await (const { sessions } of matchingGroups(finder, plan)) {
    found.push(...sessions);
    if (found.length > MOST_SORTED) break;
  }
  const sorted = sortSessions(plan.filter, found.slice(0, MOST_SORTED), plan.now);
  return { sessions: sorted, cut: found.length > MOST_SORTED };
}

export async function listPage(finder: Finder, options: PageOptions): Promise<SessionPage> {
  const { size = PAGE } = options;
  if (!Number.isInteger(size) || size < 1 || size > LARGEST_PAGE)
    throw new ClientProblem('refused', `a page of ${size} sessions: give a whole number from 1 to ${LARGEST_PAGE}`);
  const cursor = readCursor(options.after);
  const plan = await planSearch(finder, options);
  const page = await findPage(finder, plan, size, cursor);
  return options.running && !plan.looks
    ? { ...page, sessions: await lookAtRunning(finder.readRunning, page.sessions) }
    : page;
}

async function findPage(finder: Finder, plan: SearchPlan, size: number, cursor: Cursor): Promise<SessionPage> {
  if (plan.filter.sort === undefined) return scanPage(finder, plan, size, cursor);
  const { sessions, cut } = await collectSorted(finder, plan);
  const from = cursor.offset ?? 0;
  const more = from + size < sessions.length;
  const notes = [plan.note, cut ? SORT_CUT : undefined].filter((note) => note !== undefined);
  return {
    sessions: sessions.slice(from, from + size),
    next: more ? writeCursor({ offset: from + size }) : null,
    ...(notes.length > 0 ? { note: notes.join('; ') } : {}),
  };
}

async function scanPage(finder: Finder, plan: SearchPlan, size: number, { at, id = '' }: Cursor): Promise<SessionPage> {
  const noted = plan.note === undefined ? {} : { note: plan.note };
  const found: Placed<SessionInfo>[] = [];
  // Ask for one more than wanted: only then is there a next page.
  const pageSize = Math.min(size + 1, SERVER_PAGE);
  const from = at === undefined ? undefined : { at, id };
  const endAt = (next: OrderPlace | null): SessionPage => ({
    sessions: found.map(({ item }) => item),
    next: next && writeCursor(next),
    ...noted,
  });
  let steps = 0;
  for await (const { items, place } of newestFirst(streamsOf(finder, plan, pageSize), from)) {
    const placed = new Map(items.map((one) => [one.id, one]));
    const sessions = [...placed.values()].map(({ item }) => item);
    for (const item of await matching(finder, plan, sessions)) {
      const last = found.at(-1);
      if (last && found.length === size) return endAt(toOrderPlace(last));
      const { key, bound } = placed.get(item.session) ?? { key: item.startedAt, bound: item.startedAt };
      found.push({ id: item.session, key, bound, item });
    }
    steps += 1;
    if (steps * (plan.compiled.exact ? pageSize : SERVER_PAGE) >= MOST_SCANNED && place.at !== Number.NEGATIVE_INFINITY)
      return endAt(place);
  }
  return endAt(null);
}

/**
 * Reads open and closed sessions apart, each as visibility orders them. Where running ones are
 * looked at, only those under way are read beyond what the server finds. `size` is that of a page;
 * null where all are wanted.
 */
function streamsOf(finder: Finder, plan: SearchPlan, size: number | null): Stream<SessionInfo>[] {
  const { compiled, closed, looks, attributes, isOpen } = plan;
  const settled = looks && attributes ? querySettled(plan) : null;
  if (settled !== null) {
    const queries = SETTLED.filter((phase) => isMeant(plan, phase)).map((phase) => settledQuery(settled, [phase]));
    return [streamUnderWay(finder, plan), ...queries.map((query) => streamRows(finder, query, size))];
  }
  const streamWith = ({ query, exact }: Compiled, status: string): Stream<SessionInfo> =>
    streamRows(finder, `${query} AND ExecutionStatus ${status}`, exact ? size : null);
  const open = streamWith(compiled, `= 'Running'`);
  return isOpen ? [open] : [open, streamWith(closed, `!= 'Running'`)];
}

async function* streamRows(
  finder: Finder,
  query: string,
  size: number | null,
): AsyncGenerator<readonly Placed<SessionInfo>[], void> {
  const all = size === null ? await finder.readAll?.(query) : null;
  if (all) yield all;
  else yield* streamSessions(finder, query, size ?? SERVER_PAGE);
}

async function* streamUnderWay(
  { readUnderWay }: Finder,
  { isOpen }: SearchPlan,
): AsyncGenerator<readonly Placed<SessionInfo>[], void> {
  const all = await readUnderWay();
  yield isOpen ? all.filter(({ item }) => item.status === 'open') : all;
}

/** The place where a page ends: a place in the order of starts, or an offset into a sorted list. */
type Cursor = Partial<OrderPlace> & { readonly offset?: number };

function writeCursor(cursor: Cursor): string {
  return Buffer.from(JSON.stringify(cursor)).toString('base64url');
}

/** Throws ClientProblem for a text that is not a cursor, since it may come from anyone. */
function readCursor(text: string | undefined): Cursor {
  if (text === undefined) return {};
  try {
    const { at, id, offset } = JSON.parse(Buffer.from(text, 'base64url').toString()) as Record<string, unknown>;
    return present({
      at: Number.isFinite(at) ? Number(at) : undefined,
      id: typeof id === 'string' ? id : undefined,
      offset: Number.isSafeInteger(offset) && Number(offset) >= 0 ? Number(offset) : undefined,
    });
  } catch (error) {
    throw new ClientProblem('refused', 'the place of the next page cannot be read: begin with the first', {
      cause: error,
    });
  }
}

/**
 * Lists a folder's open sessions, newest first, for a person or program that comes back to it.
 * Leaves out sessions that agents began, since their parents talk to them. Looks through at most
 * `lookedAt` sessions.
 */
export async function* openSessionsIn(
  sessions: { list(which: { readonly open: true }): AsyncIterable<SessionInfo> },
  cwd: string,
  lookedAt: number = Number.POSITIVE_INFINITY,
): AsyncGenerator<SessionInfo> {
  let looked = 0;
  for await (const info of sessions.list({ open: true })) {
    if (info.cwd === cwd && info.unreadable === undefined && info.facts?.agent === undefined) yield info;
    looked += 1;
    if (looked === lookedAt) return;
  }
}
