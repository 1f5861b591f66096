// Puts the sessions of a list into trees: each above the agents that it called. Pure.
import type { SessionInfo } from './info.ts';

export type SessionTree = {
  readonly session: SessionInfo;
  /** Its agents that the list has, in the order of the list. */
  readonly agents: readonly SessionTree[];
};

/**
 * Returns the sessions whose caller the list lacks, with their agents below them, in the order in
 * which the list first names one of each tree.
 */
export function plantTrees(sessions: readonly SessionInfo[]): readonly SessionTree[] {
  const byId = new Map<string, SessionInfo>(sessions.map((info) => [info.session, info]));
  const below = new Map<string, SessionInfo[]>();
  for (const info of sessions) {
    const parent = info.facts?.agent?.parent;
    if (parent !== undefined) below.set(parent, [...(below.get(parent) ?? []), info]);
  }
  // A foreign memo may name a circle of parents: each session stands in one place.
  const planted = new Set<string>();
  const grow = (session: SessionInfo): SessionTree => {
    planted.add(session.session);
    const agents = (below.get(session.session) ?? []).filter((agent) => !planted.has(agent.session));
    return { session, agents: agents.map(grow) };
  };
  return sessions.flatMap((info) => {
    const root = rootOf(info, byId);
    return planted.has(root.session) ? [] : [grow(root)];
  });
}

function rootOf(info: SessionInfo, byId: ReadonlyMap<string, SessionInfo>): SessionInfo {
  const passed = new Set<string>();
  for (let one = info; ;) {
    passed.add(one.session);
    const parent = byId.get(one.facts?.agent?.parent ?? '');
    if (parent === undefined || passed.has(parent.session)) return one;
    one = parent;
  }
}

export type PlacedSession = { readonly session: SessionInfo; readonly depth: number };

/** Returns a tree row by row, the caller first. */
export function rowsOfTree({ session, agents }: SessionTree, depth = 0): readonly PlacedSession[] {
  return [{ session, depth }, ...agents.flatMap((agent) => rowsOfTree(agent, depth + 1))];
}

/** Marks an agent's title with its place below its caller, or with a caller that isn't shown. */
export function titleInTree({ session, depth }: PlacedSession, title: string): string {
  const { agent } = session.facts ?? {};
  if (depth > 0) return `${'  '.repeat(depth - 1)}└ ${title}`;
  return agent === undefined ? title : `agent of ${agent.parent}: ${title}`;
}
