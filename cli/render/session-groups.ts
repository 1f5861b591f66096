// Puts sessions into groups by what they need from a person, for `top` and `list`. Pure.
import type { Paint, PlacedSession, SessionTree, SessionInfo } from '../../client/faces/types.ts';
import { isFailedSession, isSilentSession, plantTrees, rowsOfTree } from '../../client/faces/lists.ts';

export type SessionSort = 'age' | 'cost' | 'title';
export const SORTS: readonly SessionSort[] = ['age', 'cost', 'title'];

const GROUPS = ['NEEDS YOU', 'STUCK', 'FAILED', 'WORKING', 'PARKED', 'IDLE', 'ENDED'] as const;
export type ListedGroup = (typeof GROUPS)[number];

const COLOURS: Readonly<Record<ListedGroup, 'yellow' | 'red' | 'cyan' | 'dim'>> = {
  'NEEDS YOU': 'yellow',
  STUCK: 'red',
  FAILED: 'red',
  WORKING: 'cyan',
  PARKED: 'dim',
  IDLE: 'dim',
  ENDED: 'dim',
};

export const groupHeading = (paint: Paint, group: ListedGroup): string => paint[COLOURS[group]](group);

/** Milliseconds for which a session that was closed after a failure is shown among the failed. */
const FAILED_MS = 24 * 3_600_000;

/** Returns the group of a session without its agents. `now` is in milliseconds since the epoch. */
export function groupOf(session: SessionInfo, now: number): ListedGroup {
  const { status, phase, closedAt, waitsFor } = session;
  if (status !== 'open') return isFailedSession(session) && now - (closedAt ?? now) < FAILED_MS ? 'FAILED' : 'ENDED';
  if (phase === 'waiting_approval') return 'NEEDS YOU';
  if (phase === 'waiting_worker' || waitsFor !== undefined || isSilentSession(session, now)) return 'STUCK';
  if (phase === 'idle') return isFailedSession(session) ? 'FAILED' : 'IDLE';
  return phase === 'running' ? 'WORKING' : 'PARKED';
}

/** A session below its caller, in the group of their tree. */
export type GroupedSession = PlacedSession & { readonly group: ListedGroup };

/**
 * Returns the sessions in the order of their groups, agents below their caller. A tree stands in
 * the group of its most urgent member; an agent that failed is its caller's to deal with.
 */
export function orderInGroups(
  sessions: readonly SessionInfo[],
  sort: SessionSort,
  now: number,
): readonly GroupedSession[] {
  const key = ({ session }: SessionTree): number | string =>
    sort === 'cost' ? -(session.facts?.cents ?? 0) : sort === 'title' ? session.title.toLowerCase() : 0;
  const compare = (one: SessionTree, other: SessionTree): number => {
    const [first, second] = [key(one), key(other)];
    return first < second ? -1 : first > second ? 1 : 0;
  };
  const rank = (tree: SessionTree): number => {
    const own = GROUPS.indexOf(groupOf(tree.session, now));
    const urgent = tree.agents.map(rank).filter((each) => each <= GROUPS.indexOf('STUCK'));
    return Math.min(own, ...urgent);
  };
  const sorted = (trees: readonly SessionTree[]): readonly SessionTree[] =>
    trees
      .toSorted((one, other) => rank(one) - rank(other) || compare(one, other))
      .map(({ session, agents }) => ({ session, agents: sorted(agents) }));
  return sorted(plantTrees(sessions)).flatMap((tree) => {
    const group = GROUPS[rank(tree)] ?? 'IDLE';
    return rowsOfTree(tree).map((row) => ({ ...row, group }));
  });
}
