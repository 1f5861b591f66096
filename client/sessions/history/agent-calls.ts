// Finds the calls of a session that started agents, and the session of each: an agent's id ends
// with the place of its call, and its title is the call's description. Pure.
import { AGENT_TOOL } from '../../../workflows/contract/delegation.ts';
import type { Outcome } from '../../../store/log/entries.ts';
import type { SessionInfo } from '../info.ts';
import { isReply, type Item } from './items.ts';

export type AgentCallRecord = {
  /** Name of the call in links: `run-iteration-index`. */
  readonly anchor: string;
  readonly index: number;
  readonly title: string;
  /** Milliseconds since the epoch, of its reply. */
  readonly at: number;
  readonly outcome: Outcome | null;
};

export function findAgentCalls(items: readonly Item[]): readonly AgentCallRecord[] {
  return items.filter(isReply).flatMap(({ entry, anchor, outcomes }) =>
    entry.message.content.flatMap((block, index) => {
      if (block.type !== 'tool_use' || block.name !== AGENT_TOOL) return [];
      const { description } = (block.input ?? {}) as { readonly description?: unknown };
      const title = typeof description === 'string' ? description.trim() : '';
      return [{ anchor: `${anchor}-${index}`, index, title, at: entry.at, outcome: outcomes.get(index) ?? null }];
    }),
  );
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
