// The order in which the list shows sessions where nobody has chosen one: what needs a person,
// what gives no sign, what failed today, what works, and the rest by when it last did something.
// Pure.
import type { SessionInfo } from '../../client/faces/types.ts';
import type { RunEnds } from './run-ends.ts';
import { stateOf, stateOfTree } from './session-state.ts';
import type { TreeRow } from './session-tree.ts';

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
