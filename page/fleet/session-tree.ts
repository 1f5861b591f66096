// Puts agents below the session that called them and forks below the one that they come from, in
// the order of the list, or rows together that have something in common. Pure.
import type { SessionInfo } from '../../client/faces/types.ts';
import { workerName } from '../../client/faces/turns.ts';
import { tagValues } from '../../client/faces/contract.ts';
import type { Grouping } from './fleet-view.ts';

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
