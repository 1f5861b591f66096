// Finds the calls of a session that started agents, and the session of each: an agent's id ends
// with the place of its call, and its title is the call's description. Pure.
import type { Outcome } from '../../../store/log/entries.ts';
import { AGENT_TOOL } from '../../../workflows/contract/delegation.ts';
import type { SessionInfo } from '../info.ts';
import { foldItems, type Item, type ItemFold, type OpenCall, type OpenCalls, takeCalls } from './items.ts';

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
