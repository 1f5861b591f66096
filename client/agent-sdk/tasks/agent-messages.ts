// Builds the messages of an agent from its transcript: its calls and their results, with
// `parent_tool_use_id`, and its progress as a task.
import type { Bodies } from '../../../store/log/bodies.ts';
import type { Entry, ReplyEntry } from '../../../store/log/entries.ts';
import type { RunEnded } from '../../../workflows/contract/activities.ts';
import { addSpend, noSpend, type Spend, type Terminal, totalTokens } from '../../../workflows/contract/loop.ts';
import { messageOfEntry, uuidOf } from '../messages.ts';
import type { SDKAssistantMessage, SDKMessage, SDKUserMessage } from '../shapes/messages.ts';
import { type CalledAgent, taskOf } from './called-agents.ts';

export type AgentTeller = {
  /** Returns the messages for an entry, which are received together. */
  tell(entry: Entry, position: number): readonly SDKMessage[];
};

export type AgentTellerOptions = {
  /** The main session. */
  readonly session: string;
  readonly agent: CalledAgent;
  /** Whether texts, thinking and prompts are told, too. */
  readonly withText: boolean;
  /** The prompts that are stored by hash. */
  readonly bodies: Bodies;
};

/** Tell it every entry from the first one on, since it counts calls and spend. */
export function createAgentTeller(telling: AgentTellerOptions): AgentTeller {
  const { session, agent } = telling;
  let [run, startedAt, calls] = [0, 0, 0];
  let spend: Spend = noSpend;
  const task = (position: number) => ({
    task_id: taskOf(agent),
    tool_use_id: agent.toolUseId,
    run_id: `run-${String(run).padStart(6, '0')}`,
    session_id: session,
    uuid: uuidOf(agent.session, position, 'task'),
  });
  const usage = (durationMs: number) => ({
    total_tokens: totalTokens(spend.usage),
    tool_uses: calls,
    duration_ms: durationMs,
  });
  const begin = (entry: Extract<Entry, { kind: 'run_started' }>, position: number): SDKMessage => {
    [run, startedAt, calls] = [entry.run, entry.at, 0];
    spend = noSpend;
    return {
      type: 'system',
      subtype: 'task_started',
      ...task(position),
      description: agent.title,
      subagent_type: agent.type,
      task_type: 'local_agent',
      is_backgrounded: agent.background,
      spawn_depth: agent.depth,
      ...(agent.parent !== undefined && { parent_task_id: agent.parent }),
      ...(run === 1 && { prompt: agent.prompt }),
    };
  };
  const progress = (entry: ReplyEntry, position: number): readonly SDKMessage[] => {
    spend = addSpend(spend, entry.spend);
    const names = (messageOfEntry(session, entry, position) as SDKAssistantMessage).message.content.flatMap((block) =>
      block.type === 'tool_use' ? [block.name] : [],
    );
    calls += names.length;
    const [last] = names.slice(-1);
    if (last === undefined) return [];
    const facts = { description: agent.title, subagent_type: agent.type, last_tool_name: last };
    const used = usage(Math.max(0, entry.at - startedAt));
    return [{ type: 'system', subtype: 'task_progress', ...task(position), ...facts, usage: used }];
  };
  const end = ({ terminal, durationMs, spend: whole }: RunEnded, position: number): SDKMessage => {
    spend = whole;
    const state = { status: statusOf(terminal), summary: describeEnd(agent, terminal), output_file: '' };
    return {
      type: 'system',
      subtype: 'task_notification',
      ...task(position),
      ...state,
      usage: usage(durationMs),
    };
  };
  return {
    tell: (entry, position) => {
      switch (entry.kind) {
        case 'run_started':
          return [begin(entry, position)];
        case 'reply':
          return [...agentMessages(telling, entry, position), ...progress(entry, position)];
        case 'user':
        case 'outcomes':
          return agentMessages(telling, entry, position);
        case 'run_ended':
          return [end(entry.ended, position)];
        default:
          return [];
      }
    },
  };
}

/** Returns an empty list for a message that has nothing left to tell without its texts. */
function agentMessages(
  telling: AgentTellerOptions,
  entry: Entry,
  position: number,
): readonly (SDKAssistantMessage | SDKUserMessage)[] {
  const { session, agent, withText } = telling;
  const said = entry.kind === 'user' ? promptMessage(telling, entry) : messageOfEntry(agent.session, entry, position);
  if (said?.type !== 'assistant' && said?.type !== 'user') return [];
  const { session: own, toolUseId, type, title } = agent;
  const facts = {
    session_id: session,
    uuid: uuidOf(own, position),
    parent_tool_use_id: toolUseId,
    agent_id: taskOf(agent),
    subagent_type: type,
    task_description: title,
  };
  if (said.type === 'user') return [{ ...said, ...facts }];
  const content = withText
    ? said.message.content
    : said.message.content.filter(({ type: kind }) => kind === 'tool_use');
  return content.length === 0 ? [] : [{ ...said, message: { ...said.message, content }, ...facts }];
}

/** Returns null when texts are not told. */
function promptMessage(
  { withText, bodies }: AgentTellerOptions,
  { body }: Extract<Entry, { kind: 'user' }>,
): SDKUserMessage | null {
  if (!withText) return null;
  const text = body.kind === 'text' ? body.text : (bodies.get(body.hash) ?? '');
  return { type: 'user', message: { role: 'user', content: [{ type: 'text', text }] }, parent_tool_use_id: null };
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
