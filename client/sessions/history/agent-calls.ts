// Finds the calls of a session that started agents, and the session of each: an agent's id ends
// with the place of its call, and its title is the call's description. Pure.
// Finds how agents stand whose calls have no outcome yet. Outcomes are stored with those of the
// other calls of their reply, so an agent may have ended long before.
import type { Outcome, ReplyEntry } from '../../../store/log/entries.ts';
import { AGENT_TOOL } from '../../../workflows/contract/delegation.ts';
import type { SessionPage } from '../find/list-sessions.ts';
import type { SessionInfo } from '../info.ts';
import type { RunOutcome } from '../outcome.ts';
import { type ReadingPorts, readSession, type SessionReading } from '../read.ts';
import {
  foldItems,
  isReply,
  type Item,
  type ItemFold,
  type OpenCall,
  type OpenCalls,
  takeCalls,
  transcriptItems,
} from './items.ts';

export type AgentCallRecord = {
  /** Name of the call in links: `run-iteration-index`. */
  readonly anchor: string;
  readonly index: number;
  readonly title: string;
  /** Milliseconds since the epoch, of its reply. */
  readonly at: number;
  readonly outcome: Outcome | null;
};

type Found = { readonly open: OpenCalls; readonly calls: AgentCallRecord[]; readonly at: Map<OpenCall, number> };

const agentCalls: ItemFold<Found> = {
  begin: () => ({ open: new Map(), calls: [], at: new Map() }),
  add({ open, calls, at }, item) {
    const { asked: requested, ended: completed } = takeCalls(open, item);
    if (requested.length > 0) at.clear();
    for (const call of requested) {
      if (call.name !== AGENT_TOOL) continue;
      const { description } = call.input;
      const title = typeof description === 'string' ? description.trim() : '';
      at.set(call, calls.length);
      calls.push({ anchor: call.anchor, index: call.index, title, at: call.reply.entry.at, outcome: null });
    }
    for (const { call, outcome } of completed) {
      const place = at.get(call) ?? -1;
      const record = calls[place];
      if (record) calls[place] = { ...record, outcome };
    }
  },
};

export function findAgentCalls(items: readonly Item[]): readonly AgentCallRecord[] {
  return foldItems(agentCalls, items).calls;
}

/** Returns the agent's session for each call that has begun one, by the call's anchor. */
export function matchAgents(
  calls: readonly AgentCallRecord[],
  sessions: readonly SessionInfo[],
): ReadonlyMap<string, SessionInfo> {
  const left = sessions.toSorted((one, other) => one.startedAt - other.startedAt);
  const found = new Map<string, SessionInfo>();
  for (const { anchor, index, title } of calls) {
    const at = left.findIndex(({ session, title: name }) => session.endsWith(`-${index}`) && name === title);
    const [known] = at < 0 ? [] : left.splice(at, 1);
    if (known) found.set(anchor, known);
  }
  return found;
}

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
