// Puts agents below the session that called them, in the order of the list. Pure.
import type { SessionInfo } from '../../client/sessions/info.ts';

export type TreeRow = {
  readonly session: SessionInfo;
  readonly depth: number;
  /** All agents below it, nearest first. */
  readonly below: readonly SessionInfo[];
};

/** Deeper rows are not moved further to the right. */
export const DEEPEST = 4;

/** An agent whose parent is not in the list stands at the top. */
export function treeRows(sessions: readonly SessionInfo[]): readonly TreeRow[] {
  const known = new Set<string>(sessions.map(({ session }) => session));
  const children = new Map<string | null, SessionInfo[]>();
  for (const session of sessions) {
    const parent = session.facts?.agent?.parent;
    const place = parent !== undefined && known.has(parent) ? parent : null;
    children.set(place, [...(children.get(place) ?? []), session]);
  }
  const seen = new Set<string>();
  const rowsOf = (session: SessionInfo, depth: number): readonly TreeRow[] => {
    // Facts come from a memo that anyone may write: a circle ends here.
    if (seen.has(session.session)) return [];
    seen.add(session.session);
    const rows = (children.get(session.session) ?? []).flatMap((child) => rowsOf(child, depth + 1));
    return [{ session, depth: Math.min(depth, DEEPEST), below: rows.map((row) => row.session) }, ...rows];
  };
  const rows = (children.get(null) ?? []).flatMap((session) => rowsOf(session, 0));
  return [...rows, ...sessions.flatMap((session) => rowsOf(session, 0))];
}

export const flatRows = (sessions: readonly SessionInfo[]): readonly TreeRow[] =>
  sessions.map((session) => ({ session, depth: 0, below: [] }));
