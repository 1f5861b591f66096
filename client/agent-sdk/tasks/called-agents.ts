// Finds the agents that the calls of a transcript have started. The id of an agent's session
// follows from the call, so that its messages are found while it works and long after.
import { AGENT_TOOL, agentName, agentSessionId, keyHead } from '../../faces/contract.ts';
import { present } from '../../faces/basics.ts';
import type { Outcome, ReplyEntry, Hash, SessionId } from '../../faces/types.ts';

/** An agent of a conversation, as described by the call that started it. */
export type CalledAgent = {
  readonly session: SessionId;
  /** The call of `Agent` that started it. */
  readonly toolUseId: string;
  readonly type: string;
  readonly title: string;
  readonly prompt: string;
  readonly background: boolean;
  /** 1 for an agent of the main session. */
  readonly depth: number;
  /** The agent that started this one; absent for an agent of the main session. */
  readonly parent?: string;
};

/**
 * The main session, or the agent, that made the calls. Agents of the types in `inBackground` work
 * in the background by themselves.
 */
export type Caller = Pick<CalledAgent, 'session' | 'depth'> & { readonly inBackground: ReadonlySet<string> };

/** The id that messages, hooks and the model know an agent by. */
export const taskOf = ({ session }: Pick<CalledAgent, 'session'>): string => agentName(session);

/**
 * Returns the agents that the calls of a reply start if they are allowed. `head` names the
 * transcript that ends with the reply.
 */
export function agentsOfReply(caller: Caller, head: Hash, reply: ReplyEntry): readonly CalledAgent[] {
  return reply.message.content.flatMap((_, index) => {
    const agent = agentOfCall(caller, head, { reply, index });
    return agent ? [agent] : [];
  });
}

/** Returns null when the call is not one of `Agent`, or has started no agent. */
export function agentOfOutcome(caller: Caller, reply: ReplyEntry | null, outcome: Outcome): CalledAgent | null {
  const { key, name } = outcome.log;
  const head = name === AGENT_TOOL && key !== null ? keyHead(key) : null;
  return head === null || reply === null ? null : agentOfCall(caller, head, { reply, index: outcome.index });
}

type Call = { readonly reply: ReplyEntry; readonly index: number };

function agentOfCall({ session, depth, inBackground }: Caller, head: Hash, { reply, index }: Call): CalledAgent | null {
  const block = reply.message.content[index];
  if (block?.type !== 'tool_use' || block.name !== AGENT_TOOL) return null;
  const input = (block.input ?? {}) as Readonly<Record<string, unknown>>;
  const text = (key: string, otherwise = ''): string => (typeof input[key] === 'string' ? input[key] : otherwise);
  const type = text('type', 'general');
  const { background = inBackground.has(type) } = input;
  const root = session.replace(/\.agent-[^.]*$/, '');
  return {
    session: agentSessionId(root, `agent-${head.slice(0, 16)}-${index}`),
    toolUseId: block.id,
    type,
    title: text('description'),
    prompt: text('prompt'),
    background: background === true,
    depth: depth + 1,
    ...present({ parent: depth > 0 ? agentName(session) : undefined }),
  };
}
