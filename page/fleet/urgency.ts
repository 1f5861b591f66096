// The order in which the list shows sessions where nobody has chosen one: what needs a person,
// what gives no sign, what failed today, what works, and the rest by when it last did something.
// Pure.
import { tagValues } from '../../client/faces/contract.ts';
import { readSegment } from '../../client/faces/reading.ts';
import { StoreError } from '../../client/faces/sessions.ts';
import { workerName } from '../../client/faces/turns.ts';
import type { SessionInfo, Store } from '../../client/faces/types.ts';
import { createLimit } from '../../system/async.ts';
import { RecentMap } from '../../system/recent-map.ts';
import type { Grouping } from './fleet-view.ts';
import { stateOf, stateOfTree } from './session-state.ts';

const DAY_MS = 86_400_000;
const RANKS: readonly string[] = ['needs you', 'silent', 'failed', 'no worker', 'running', 'parked'];

/** Orders the trees of a list; agents stay below their callers. */
export function byUrgency(rows: readonly TreeRow[], ends: RunEnds, now: number): readonly TreeRow[] {
  const trees: TreeRow[][] = [];
  for (const row of rows) {
    const last = trees.at(-1);
    if (row.depth > 0 && last) last.push(row);
    else trees.push([row]);
  }
  return trees
    .map((tree) => ({ tree, ...placeOf(tree, ends, now) }))
    .toSorted((one, other) => one.rank - other.rank || other.at - one.at)
    .flatMap(({ tree }) => tree);
}

type Place = { readonly rank: number; readonly at: number };

/** A tree stands where its most urgent session would; agents are their callers' business. */
function placeOf(tree: readonly TreeRow[], ends: RunEnds, now: number): Place {
  const places = tree
    .filter(({ session, depth }) => depth === 0 || session.facts?.agent === undefined)
    .map((row) => placeOfRow(row, ends, now));
  return places.reduce((first, next) => (next.rank < first.rank ? next : first));
}

/** A working session keeps its place: rows that move cannot be read. */
function placeOfRow({ session, below }: TreeRow, ends: RunEnds, now: number): Place {
  const own = stateOf(session, now);
  const { word } = stateOfTree(
    own,
    below.map((one) => stateOf(one, now)),
  );
  const endedAt = lastSignOf(session, ends) ?? session.startedAt;
  const hasFailed = own.tone === 'fail' && own.word !== 'silent' && word === own.word;
  const rank = RANKS.indexOf(!hasFailed ? word : now - endedAt > DAY_MS ? 'failed long ago' : 'failed');
  return rank < 0 ? { rank: RANKS.length, at: endedAt } : { rank, at: hasFailed ? endedAt : session.startedAt };
}

/** When a session was last seen to go on, or ended; null where nothing says. */
export function lastSignOf({ session, running, closedAt, phase, facts }: SessionInfo, ends: RunEnds): number | null {
  if (running) return running.lastSign;
  if (closedAt !== null) return closedAt;
  if (phase === 'waiting_approval') return facts?.waitingSince ?? null;
  return ends.get(session) ?? null;
}

// Tells when the last run of a session that is idle has ended, which lists do not know: its
// transcript says so, and is read once for each head.
/** Milliseconds since the epoch, by session. */
export type RunEnds = ReadonlyMap<string, number>;
type ReadRunEnds = (sessions: readonly SessionInfo[]) => Promise<RunEnds>;

const TOGETHER = 8;
const MOST_KEPT = 5_000;

export function runEndReader(store: Store): ReadRunEnds {
  const known = new RecentMap<string, number | null>(MOST_KEPT);
  const few = createLimit(TOGETHER);
  const read = async ({ session, head }: SessionInfo): Promise<number | null> => {
    if (head === null) return null;
    const found = known.get(head);
    if (found !== undefined) return found;
    const at = await few(() => readEnd(store, session, head));
    known.set(head, at);
    return at;
  };
  return async (sessions) => {
    const idle = sessions.filter(({ phase }) => phase === 'idle');
    const ends = await Promise.all(idle.map(async (one) => [one.session, await read(one)] as const));
    return new Map(ends.flatMap(([session, at]) => (at === null ? [] : [[session, at] as const])));
  };
}

/** Returns null where the transcript cannot be read, or does not say. */
async function readEnd(
  store: Store,
  session: SessionInfo['session'],
  head: NonNullable<SessionInfo['head']>,
): Promise<number | null> {
  try {
    const { segment } = await readSegment(store, head, { session, entry: null });
    const runEnd = segment.entries.findLast((entry) => entry.kind === 'run_ended');
    return runEnd?.kind === 'run_ended' ? runEnd.ended.at : null;
  } catch (error) {
    if (error instanceof StoreError) return null;
    throw error;
  }
}

// Puts agents below the session that called them and forks below the one that they come from, in
// the order of the list, or rows together that have something in common. Pure.
export type TreeRow = {
  readonly session: SessionInfo;
  readonly depth: number;
  /** All agents below it, nearest first; a fork is a session of its own, and its agents are its. */
  readonly below: readonly SessionInfo[];
};

/** Deeper rows are not moved further to the right. */
const DEEPEST = 4;

/** An agent or a fork whose parent is not in the list stands at the top. */
export function treeRows(sessions: readonly SessionInfo[]): readonly TreeRow[] {
  const known = new Set<string>(sessions.map(({ session }) => session));
  const children = new Map<string | null, SessionInfo[]>();
  for (const session of sessions) {
    const parent = session.facts?.agent?.parent ?? session.forkedFrom?.session;
    const place = parent !== undefined && known.has(parent) ? parent : null;
    children.set(place, [...(children.get(place) ?? []), session]);
  }
  const listed = new Set<string>();
  const rowsOf = (session: SessionInfo, depth: number): readonly TreeRow[] => {
    // Facts come from a memo that anyone may write: a circle ends here.
    if (listed.has(session.session)) return [];
    listed.add(session.session);
    const trees = (children.get(session.session) ?? []).map((child) => rowsOf(child, depth + 1));
    const below = trees.flatMap(([top]) => (top?.session.facts?.agent ? [top.session, ...top.below] : []));
    return [{ session, depth: Math.min(depth, DEEPEST), below }, ...trees.flat()];
  };
  const rows = (children.get(null) ?? []).flatMap((session) => rowsOf(session, 0));
  return [...rows, ...sessions.flatMap((session) => rowsOf(session, 0))];
}

export const flatRows = (sessions: readonly SessionInfo[]): readonly TreeRow[] =>
  sessions.map((session) => ({ session, depth: 0, below: [] }));

export type SessionGroup = { readonly name: string; readonly rows: readonly TreeRow[] };

/** Groups in the order of their first rows. */
export function groupSessions(sessions: readonly SessionInfo[], by: Grouping): readonly SessionGroup[] {
  const groups = new Map<string, TreeRow[]>();
  for (const row of flatRows(sessions)) {
    const name = groupOf(row.session, by);
    groups.set(name, [...(groups.get(name) ?? []), row]);
  }
  return [...groups].map(([name, rows]) => ({ name, rows }));
}

function groupOf({ facts, running }: SessionInfo, by: Grouping): string {
  switch (by) {
    case 'none':
      return '';
    case 'agent':
      return facts?.agent?.type ?? 'no agent';
    case 'tag':
      return tagValues(facts?.tags ?? {}).join(' ') || 'no tag';
    case 'worker': {
      const worker = running?.doing.find(({ isTaken }) => isTaken)?.worker;
      return worker ? workerName(worker) : 'with no worker now';
    }
    case 'schedule':
      return facts?.tags?.['schedule'] ?? 'no schedule';
    case 'parent':
      return facts?.agent?.parent ?? 'no parent';
  }
}
