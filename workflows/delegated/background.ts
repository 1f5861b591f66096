// Agents in the background (L71): their calls end at once, and they continue after the run has
// ended. Their parent's model reaches them by id and learns of their ends; the end of the session
// ends them.
import { CancellationScope, condition, getExternalWorkflowHandle, TemporalFailure } from '@temporalio/workflow';
import type { AgentRequest, AgentNews, DelegatedEnd } from '../contract/delegation.ts';
import { agentName, type CallKey, type MessageId, type SessionId } from '../contract/ids.ts';
import { SIGNALS, type UserMessage } from '../contract/session.ts';
import type { Agents } from './agents.ts';
import type { WorkingAgent } from './shares.ts';
import { askToStop, FIRST_LOOK_MS, isGone, isNotFound, LAST_LOOK_MS, LOST_END, REPORT_MS, STOP_MS } from './reports.ts';

export function describeBackgroundStart(child: string): DelegatedEnd {
  const id = agentName(child);
  const text = `Agent ${id} works in the background (session ${child}). You are told when it has ended: go on, or end your turn. Until then agent_send and agent_stop reach it, with this id.`;
  return { kind: 'told', text };
}

/**
 * Makes a message of an agent's end: it waits among the messages for the next turn, or opens a run.
 */
export function newsMessage(key: CallKey, news: AgentNews): UserMessage {
  return { id: `agent-end ${key}` as MessageId, body: { kind: 'text', text: '' }, querySource: 'agent', ended: news };
}

/**
 * Carries out what a call asks of an agent in the background. Nothing cancels it; it lasts a few
 * seconds at most.
 */
export function performRequest(agents: Agents, key: CallKey, request: AgentRequest): Promise<DelegatedEnd> {
  const found = agents.find(request.agent);
  if (!found) return Promise.resolve({ kind: 'failed', detail: unknownAgent(agents, request.agent) });
  if ('end' in found) return Promise.resolve(answerAfterEnd(found, request));
  switch (request.kind) {
    case 'agent_output':
      return Promise.resolve({ kind: 'told', text: describeWorking(found) });
    case 'agent_send':
      return CancellationScope.nonCancellable(() => sendMessage(found, key, request));
    case 'agent_stop':
      return CancellationScope.nonCancellable(() => stopAgent(agents, found, request.agent));
  }
}

function unknownAgent({ background }: Agents, id: string): string {
  const names = background.map(({ session }) => agentName(session)).join(', ');
  return `No agent ${JSON.stringify(id.slice(0, 80))} is at work in the background, or has ended lately. At work: ${names || 'none'}.`;
}

function answerAfterEnd({ end }: AgentNews, { kind, agent }: AgentRequest): DelegatedEnd {
  return kind === 'agent_send' ? { kind: 'failed', detail: `Not sent: agent ${agent} has ended.` } : end;
}

function describeWorking({ session, title, background = 0 }: WorkingAgent): string {
  const since = new Date(background).toISOString();
  return `Agent ${agentName(session)} (${JSON.stringify(title)}) is at work, since ${since}. You are told when it has ended; its session is ${session}.`;
}

async function sendMessage(
  { session }: WorkingAgent,
  key: CallKey,
  { agent, message: body, traceparent }: Extract<AgentRequest, { kind: 'agent_send' }>,
): Promise<DelegatedEnd> {
  const id = key as string as MessageId;
  const message: UserMessage = { id, body, querySource: 'agent', ...(traceparent && { traceparent }) };
  try {
    await getExternalWorkflowHandle(session).signal(SIGNALS.message, message);
    return { kind: 'told', text: `Sent to agent ${agent}: it reads it before its next turn, unless it ends first.` };
  } catch (error) {
    if (!(error instanceof TemporalFailure)) throw error;
    const why = isNotFound(error) ? 'has ended' : 'takes no messages now: try again later';
    return { kind: 'failed', detail: `Not sent: agent ${agent} ${why}.` };
  }
}

async function stopAgent(agents: Agents, { key, session }: WorkingAgent, id: string): Promise<DelegatedEnd> {
  const endNow = (): DelegatedEnd | null => {
    const found = agents.find(id);
    return found && 'end' in found ? found.end : null;
  };
  agents.setQuiet(key, true);
  await askToStop(session);
  await condition(() => endNow() !== null, STOP_MS);
  const end = endNow();
  if (end) return end;
  agents.setQuiet(key, false);
  return {
    kind: 'told',
    text: `Agent ${id} was asked to stop, and has not ended 5 s later. You are told when it has.`,
  };
}

/** Asks the agents to stop when their session ends. */
export async function stopBackground(agents: Agents): Promise<void> {
  for (const { session } of agents.background) await CancellationScope.nonCancellable(() => askToStop(session));
}

/**
 * Looks for agents that were ended from outside, at growing intervals: a session that was handed
 * over is not told of it.
 */
export async function watchBackground(agents: Agents): Promise<void> {
  const areAllOver = (): boolean => agents.background.length === 0;
  for (let lookMs = FIRST_LOOK_MS; !areAllOver(); lookMs = Math.min(2 * lookMs, LAST_LOOK_MS)) {
    if (await condition(areAllOver, lookMs)) return;
    for (const { key, session } of agents.background)
      if (await isGone(session, true)) await reportLost(agents, key, session);
  }
}

async function reportLost(agents: Agents, key: CallKey, session: SessionId): Promise<void> {
  const isThere = (): boolean => agents.background.some((each) => each.session === session);
  if (!(await condition(() => !isThere(), REPORT_MS))) agents.report({ key, end: LOST_END });
}
