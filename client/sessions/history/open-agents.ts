// Finds how agents stand whose calls have no outcome yet. Outcomes are stored with those of the
// other calls of their reply, so an agent may have ended long before.
import type { ReplyEntry } from '../../../store/log/entries.ts';
import type { SessionPage } from '../find/list-sessions.ts';
import type { SessionInfo } from '../info.ts';
import type { RunOutcome } from '../outcome.ts';
import { type ReadingPorts, readSession, type SessionReading } from '../read.ts';
import { findAgentCalls, matchAgents } from './agent-calls.ts';
import { isReply, transcriptItems } from './items.ts';

export type OpenAgent = {
  readonly agent: SessionInfo;
  /** How its last run ended; null while it works. */
  readonly outcome: RunOutcome | null;
};

/** Agents by the reply that called them and the index of the call's block. */
export type OpenAgents = ReadonlyMap<ReplyEntry, ReadonlyMap<number, OpenAgent>>;

/** Most agents of a session that are looked at, the newest ones. */
const MOST_AGENTS = 100;

type Ports = ReadingPorts & {
  readonly sessions: { page(options: { filter: string; size: number }): Promise<SessionPage> };
};

/** Throws ClientProblem, and StoreError when an agent's end cannot be read. */
export async function readOpenAgents(
  ports: Ports,
  { description, entries, first }: SessionReading,
): Promise<OpenAgents> {
  const items = transcriptItems(first);
  items.add(entries);
  const calls = findAgentCalls(items.all);
  const open = calls.filter(({ outcome }) => outcome === null);
  if (open.length === 0) return new Map();
  const { sessions } = await ports.sessions.page({ filter: `parent:${description.session}`, size: MOST_AGENTS });
  const agents = matchAgents(calls, sessions);
  const found = new Map<ReplyEntry, Map<number, OpenAgent>>();
  for (const reply of items.all.filter(isReply))
    for (const { anchor, index } of open) {
      const agent = agents.get(anchor);
      if (!agent || anchor !== `${reply.anchor}-${index}`) continue;
      const isOver = agent.phase === 'closed' || agent.phase === 'idle';
      const outcome = isOver ? ((await readSession(ports, agent.session)).runs.at(-1) ?? null) : null;
      found.set(reply.entry, (found.get(reply.entry) ?? new Map<number, OpenAgent>()).set(index, { agent, outcome }));
    }
  return found;
}
