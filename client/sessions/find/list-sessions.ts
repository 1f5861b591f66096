// Finds sessions: visibility narrows the search if the server has the attributes, and memos decide.
// A page's cursor holds everything needed to go on, so any process can continue (O3).
import type { Client } from '@temporalio/client';
import { executionInfoFromRaw } from '@temporalio/client/lib/helpers.js';
import { ATTRIBUTES } from '../../../workflows/contract/visibility.ts';
import type { Abortable } from '../../async.ts';
import { ClientProblem } from '../../problem.ts';
import { type SeenPhase, type SessionInfo, sessionInfo } from '../info.ts';
import type { ReadRunning } from '../running/read-running.ts';
import { withRunning } from '../running/running-row.ts';
import { patience, callUntilAnswered } from '../persist.ts';
import { compileFilter, type Compiled } from './compile-filter.ts';
import { matchesFilter, sortSessions } from './match-session.ts';
import { type Filter, parseFilter } from './parse-filter.ts';
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
  readonly readRunning?: ReadRunning;
};

/**
 * Most sessions that are read for a sorted list, which needs all of them, and for one page of an
 * unsorted one.
 */
const MOST_SORTED = 10_000;
const MOST_SCANNED = 5_000;
const SERVER_PAGE = 500;
const PAGE = 50;
const LARGEST_PAGE = 1_000;
/** Most running sessions of a group that are looked at. */
const MOST_LOOKED = 300;

const impatient = { ...patience, total: patience.oneCall };

export const NO_ATTRIBUTES =
  'the server lacks search attributes, so that every session is read: `perdure setup` adds them';
const SORT_CUT = `only the newest ${MOST_SORTED.toLocaleString('en')} sessions were sorted: narrow the filter`;

type Plan = {
  readonly filter: Filter;
  readonly compiled: Compiled;
  readonly now: number;
  readonly note?: string;
  /** Running sessions are looked at before the filter decides. */
  readonly looks: boolean;
};

type Wanted = Omit<ListOptions, 'signal'> & {
  /** Only sessions with something that waits for a person; others too if the server cannot tell. */
  readonly waiting?: boolean;
};

async function planSearch(
  { visibility }: Finder,
  { open, waiting, running = false, filter: text = '' }: Wanted,
): Promise<Plan> {
  const filter = parseFilter(text);
  const byIdle =
    filter.sort?.field === 'idle' || filter.terms.some((term) => term.kind === 'field' && term.field === 'idle');
  const looks = byIdle || (running && needsNumbers(filter));
  const now = Date.now();
  const attributes = (filter.terms.length > 0 || waiting === true) && (await visibility());
  const compiled = compileFilter(filter, { attributes, open, waiting, now, looks });
  const slow = filter.terms.length > 0 && !attributes;
  return present({ filter, compiled, now, looks, note: slow ? NO_ATTRIBUTES : undefined });
}

/** Fields of a session under way that its memo has as of its last handover. */
const NUMBERS: ReadonlySet<string> = new Set(['turns', 'tokens', 'cost', 'model']);

function needsNumbers({ sort, terms }: Filter): boolean {
  return (
    (sort !== undefined && NUMBERS.has(sort.field)) ||
    terms.some((term) => term.kind === 'field' && NUMBERS.has(term.field))
  );
}

/** Adds a look at those of the sessions that have a run under way. */
async function lookAtRunning(
  { readRunning }: Finder,
  sessions: readonly SessionInfo[],
): Promise<readonly SessionInfo[]> {
  const running = sessions
    .filter(({ status, phase }) => status === 'open' && phase === 'running')
    .slice(0, MOST_LOOKED);
  if (!readRunning || running.length === 0) return sessions;
  const rows = await readRunning(running.map(({ session }) => session));
  return sessions.map((session) => withRunning(session, rows.get(session.session)));
}

/** Collects items in groups: a look at many sessions at once is quicker than one after the other. */
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
  const found = plan.filter.sort === undefined ? matchingSessions(finder, plan) : sortedSessions(finder, plan);
  if (!options.running || plan.looks) yield* found;
  else for await (const group of inGroups(found, SERVER_PAGE)) yield* await lookAtRunning(finder, group);
}

async function* sortedSessions(finder: Finder, plan: Plan): AsyncIterable<SessionInfo> {
  yield* (await collectSorted(finder, plan)).sessions;
}

async function* matchingSessions(finder: Finder, { filter, compiled, now, looks }: Plan): AsyncIterable<SessionInfo> {
  const { temporal, observePhase } = finder;
  const all = temporal.workflow.list({ query: compiled.query, pageSize: SERVER_PAGE });
  for await (const group of inGroups(all, looks ? SERVER_PAGE : 1)) {
    const seen = await Promise.all(group.map((execution) => observePhase(sessionInfo(execution))));
    for (const session of looks ? await lookAtRunning(finder, seen) : seen)
      if (matchesFilter(filter, session, now)) yield session;
  }
}

async function collectSorted(
  finder: Finder,
  plan: Plan,
): Promise<{ readonly sessions: readonly SessionInfo[]; readonly cut: boolean }> {
  const found: SessionInfo[] = [];
  let cut = false;
  for await (const session of matchingSessions(finder, plan)) {
    cut = found.length === MOST_SORTED;
    if (cut) break;
    found.push(session);
  }
  return { sessions: sortSessions(plan.filter, found, plan.now), cut };
}

export async function listPage(finder: Finder, options: PageOptions): Promise<SessionPage> {
  const { size = PAGE } = options;
  if (!Number.isInteger(size) || size < 1 || size > LARGEST_PAGE)
    throw new ClientProblem('refused', `a page of ${size} sessions: give a whole number from 1 to ${LARGEST_PAGE}`);
  const cursor = readCursor(options.after);
  const plan = await planSearch(finder, options);
  const page = await findPage(finder, plan, size, cursor);
  return options.running && !plan.looks ? { ...page, sessions: await lookAtRunning(finder, page.sessions) } : page;
}

async function findPage(finder: Finder, plan: Plan, size: number, cursor: Cursor): Promise<SessionPage> {
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

async function scanPage(finder: Finder, plan: Plan, size: number, cursor: Cursor): Promise<SessionPage> {
  const noted = plan.note === undefined ? {} : { note: plan.note };
  const found: SessionInfo[] = [];
  let { token = '', last } = cursor;
  // Ask for one more than wanted: only then is there a next page.
  const pageSize = plan.compiled.exact ? Math.min(size + 1, SERVER_PAGE) : SERVER_PAGE;
  for (let scanned = 0; scanned < MOST_SCANNED;) {
    const read = await serverPage(finder, { query: plan.compiled.query, pageSize, token });
    const page = plan.looks ? { ...read, sessions: await lookAtRunning(finder, read.sessions) } : read;
    const at = last === undefined ? -1 : page.sessions.findIndex(({ session }) => session === last);
    for (const session of page.sessions.slice(at + 1)) {
      if (!matchesFilter(plan.filter, session, plan.now)) continue;
      if (found.length === size)
        return { sessions: found, next: writeCursor({ token, last: found.at(-1)?.session ?? '' }), ...noted };
      found.push(session);
    }
    scanned += page.sessions.length;
    if (page.next === '') return { sessions: found, next: null, ...noted };
    last = undefined;
    token = page.next;
  }
  return { sessions: found, next: writeCursor({ token }), ...noted };
}

type ServerPage = {
  readonly query: string;
  readonly pageSize: number;
  /** Empty for the first page. */
  readonly token: string;
};

async function serverPage(
  { temporal, observePhase: seen }: Finder,
  { query, pageSize, token }: ServerPage,
): Promise<{ readonly sessions: readonly SessionInfo[]; readonly next: string }> {
  const { namespace, loadedDataConverter } = temporal.options;
  const asked = { namespace, query, pageSize, nextPageToken: Buffer.from(token, 'base64url') };
  const { executions, nextPageToken } = await callUntilAnswered(
    temporal,
    'list the sessions',
    () => temporal.workflowService.listWorkflowExecutions(asked),
    impatient,
  );
  const sessions = executions.map(async (raw) =>
    seen(sessionInfo(await executionInfoFromRaw(raw, loadedDataConverter, raw, namespace))),
  );
  return { sessions: await Promise.all(sessions), next: Buffer.from(nextPageToken).toString('base64url') };
}

/**
 * The place where a page ends: within a server page, after session `last` if that is in it; or an
 * offset into a sorted list.
 */
type Cursor = { readonly token?: string; readonly last?: string; readonly offset?: number };

function writeCursor(cursor: Cursor): string {
  return Buffer.from(JSON.stringify(cursor)).toString('base64url');
}

/** Throws ClientProblem for a text that is not a cursor, since it may come from anyone. */
function readCursor(text: string | undefined): Cursor {
  if (text === undefined) return {};
  try {
    const { token, last, offset } = JSON.parse(Buffer.from(text, 'base64url').toString()) as Record<string, unknown>;
    return {
      ...(typeof token === 'string' ? { token } : {}),
      ...(typeof last === 'string' ? { last } : {}),
      ...(Number.isSafeInteger(offset) && Number(offset) >= 0 ? { offset: Number(offset) } : {}),
    };
  } catch (error) {
    throw new ClientProblem('refused', 'the place of the next page cannot be read: begin with the first', {
      cause: error,
    });
  }
}

export type SessionCounts = Readonly<Record<SeenPhase, number>> & { readonly note?: string };

const counted = ['waiting_approval', 'parked', 'idle', 'closed'] as const;

/** Asks the server for counts if memos have nothing to decide. */
export async function countSessions(finder: Finder, options: ListOptions): Promise<SessionCounts> {
  const plan = await planSearch(finder, options);
  const counts: Record<SeenPhase, number> = {
    running: 0,
    waiting_worker: 0,
    waiting_approval: 0,
    parked: 0,
    idle: 0,
    closed: 0,
  };
  if (!plan.compiled.exact || !(await finder.visibility())) {
    for await (const { phase } of matchingSessions(finder, plan)) counts[phase] += 1;
    return { ...counts, ...present({ note: plan.note }) };
  }
  const withAttributes = `${plan.compiled.query} AND ${ATTRIBUTES.turns.name} IS NOT NULL`;
  await Promise.all(
    counted.map(async (phase) => {
      const isIt = `ExecutionStatus = 'Running' AND ${ATTRIBUTES.phase.name} = '${phase}'`;
      const clause = phase === 'closed' ? `ExecutionStatus != 'Running'` : isIt;
      counts[phase] += (await finder.temporal.workflow.count(`${withAttributes} AND ${clause}`)).count;
    }),
  );
  // Visibility does not know whether a running session has a worker, and sessions without
  // attributes are in no count.
  const told = counted.map((phase) => `'${phase}'`).join(', ');
  const rest = `ExecutionStatus = 'Running' AND ${ATTRIBUTES.phase.name} NOT IN (${told})`;
  const query = `${plan.compiled.query} AND (${ATTRIBUTES.turns.name} IS NULL OR (${rest}))`;
  for await (const { phase } of matchingSessions(finder, { ...plan, compiled: { query, exact: false } }))
    counts[phase] += 1;
  return counts;
}
