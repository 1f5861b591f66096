// Builds the messages of an agent from its transcript: its calls and their results, with
// `parent_tool_use_id`, and its progress as a task.
// Finds the agents that the calls of a transcript have started. The id of an agent's session
// follows from the call, so that its messages are found while it works and long after.
import { present } from '../../faces/basics.ts';
import {
  addSpend,
  AGENT_TOOL,
  agentName,
  agentSessionId,
  keyHead,
  noSpend,
  totalTokens,
} from '../../faces/contract.ts';
import type {
  Bodies,
  Entry,
  Hash,
  Outcome,
  ReplyEntry,
  RunEnded,
  SessionId,
  Spend,
  Terminal,
  UserEntry,
} from '../../faces/types.ts';
import { messagesOfEntry, outwardMessage } from '../messages.ts';
import type { SDKAssistantMessage, SDKMessage, SDKUserMessage } from '../shapes/messages.ts';
import { uuidOf } from '../values.ts';

export type AgentTellerOptions = {
  /** The main session. */
  readonly session: string;
  readonly agent: CalledAgent;
  /** Whether texts, thinking and prompts are told, too. */
  readonly withText: boolean;
};

/** Tell it every entry from the first one on, since it counts calls and spend. */
export class AgentTeller {
  readonly #options: AgentTellerOptions;
  #run = 0;
  #startedAt = 0;
  #calls = 0;
  #spend: Spend = noSpend;
  #reply: ReplyEntry | null = null;

  constructor(options: AgentTellerOptions) {
    this.#options = options;
  }

  /**
   * Returns the messages for an entry, which are received together. `bodies` has its prompt, where
   * that is stored by hash.
   */
  tell(entry: Entry, position: number, bodies: Bodies): readonly SDKMessage[] {
    switch (entry.kind) {
      case 'run_started':
        return [this.#begin(entry, position)];
      case 'reply':
        this.#reply = entry;
        return [...this.#messages(entry, position, bodies), ...this.#progress(entry, position)];
      case 'user':
      case 'outcomes':
        return this.#messages(entry, position, bodies);
      case 'run_ended':
        return [this.#end(entry.ended, position)];
      default:
        return [];
    }
  }

  #begin(entry: Extract<Entry, { kind: 'run_started' }>, position: number): SDKMessage {
    const { agent } = this.#options;
    this.#run = entry.run;
    this.#startedAt = entry.at;
    this.#calls = 0;
    this.#spend = noSpend;
    return {
      type: 'system',
      subtype: 'task_started',
      ...this.#task(position),
      description: agent.title,
      subagent_type: agent.type,
      task_type: 'local_agent',
      is_backgrounded: agent.background,
      spawn_depth: agent.depth,
      ...present({ parent_task_id: agent.parent, prompt: entry.run === 1 ? agent.prompt : undefined }),
    };
  }

  #progress(entry: ReplyEntry, position: number): readonly SDKMessage[] {
    const { agent } = this.#options;
    this.#spend = addSpend(this.#spend, entry.spend);
    const names = outwardMessage(entry).content.flatMap((block) => (block.type === 'tool_use' ? [block.name] : []));
    this.#calls += names.length;
    const last = names.at(-1);
    if (last === undefined) return [];
    const facts = { description: agent.title, subagent_type: agent.type, last_tool_name: last };
    const usage = this.#usage(Math.max(0, entry.at - this.#startedAt));
    return [{ type: 'system', subtype: 'task_progress', ...this.#task(position), ...facts, usage }];
  }

  #end({ terminal, durationMs, spend }: RunEnded, position: number): SDKMessage {
    this.#spend = spend;
    const state = {
      status: statusOf(terminal),
      summary: describeEnd(this.#options.agent, terminal),
      output_file: '',
    };
    return {
      type: 'system',
      subtype: 'task_notification',
      ...this.#task(position),
      ...state,
      usage: this.#usage(durationMs),
    };
  }

  #messages(entry: Entry, position: number, bodies: Bodies): readonly SDKMessage[] {
    const { agent, withText } = this.#options;
    const prompts = (userEntry: UserEntry) => (withText ? [promptMessage(agent, userEntry, position, bodies)] : []);
    const messages =
      entry.kind === 'user' ? prompts(entry) : messagesOfEntry(agent.session, entry, position, this.#reply);
    return messages.flatMap((message) => agentMessage(this.#options, message) ?? []);
  }

  #task(position: number) {
    const { session, agent } = this.#options;
    return {
      task_id: taskOf(agent),
      tool_use_id: agent.toolUseId,
      run_id: `run-${String(this.#run).padStart(6, '0')}`,
      session_id: session,
      uuid: uuidOf(agent.session, position, 'task'),
    };
  }

  #usage(durationMs: number) {
    return { total_tokens: totalTokens(this.#spend.usage), tool_uses: this.#calls, duration_ms: durationMs };
  }
}

/** Returns null for a message that has nothing left to tell without its texts. */
function agentMessage(
  { session, agent, withText }: AgentTellerOptions,
  message: SDKMessage,
): SDKAssistantMessage | SDKUserMessage | null {
  if (message.type !== 'assistant' && message.type !== 'user') return null;
  const { toolUseId, type, title } = agent;
  const facts = {
    session_id: session,
    parent_tool_use_id: toolUseId,
    agent_id: taskOf(agent),
    subagent_type: type,
    task_description: title,
  };
  if (message.type === 'user') return { ...message, ...facts };
  const content = withText
    ? message.message.content
    : message.message.content.filter(({ type: kind }) => kind === 'tool_use');
  return content.length === 0 ? null : { ...message, message: { ...message.message, content }, ...facts };
}

function promptMessage(agent: CalledAgent, { body }: UserEntry, position: number, bodies: Bodies): SDKUserMessage {
  const text = body.kind === 'text' ? body.text : (bodies.get(body.hash) ?? '');
  const message = { role: 'user' as const, content: [{ type: 'text' as const, text }] };
  return { type: 'user', message, uuid: uuidOf(agent.session, position), parent_tool_use_id: null };
}

function statusOf({ reason }: Terminal): 'completed' | 'failed' | 'stopped' {
  if (reason === 'completed') return 'completed';
  return reason === 'aborted_streaming' || reason === 'aborted_tools' ? 'stopped' : 'failed';
}

function describeEnd({ title }: CalledAgent, terminal: Terminal): string {
  const detail = 'detail' in terminal ? `: ${terminal.detail}` : '';
  const words = { completed: 'completed', stopped: 'was stopped', failed: `failed with ${terminal.reason}${detail}` };
  return `Agent ${JSON.stringify(title)} ${words[statusOf(terminal)]}`;
}

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
