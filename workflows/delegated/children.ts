// The workflows that do the work of calls, as they are started: one that runs an activity or a
// workflow of the user's (L63), or the session of an agent (L66).
import { workflowInfo, type ChildWorkflowOptions } from '@temporalio/workflow';
import {
  DELEGATED_TYPE,
  type AgentDeed,
  type AgentOrigin,
  type AgentWork,
  type DelegatedInput,
  type Delegation,
  type Grant,
  type Question,
} from '../contract/delegation.ts';
import { agentFacts } from '../contract/facts.ts';
import { agentSession, type CallKey, type Hash, type MessageId, type SessionId } from '../contract/ids.ts';
import { profiles } from '../contract/failures.ts';
import { MEMO_KEY, WORKFLOW_TYPE, type SessionMemo } from '../contract/session.ts';
import type { HostInput, HostSession } from './host-session.ts';

/**
 * Memo keys of the client's that are about one session alone: its start, and the file that it was
 * taken from.
 */
const [STARTED, IMPORTED] = ['perdureStarted', 'perdureImported'];

type Opened = { readonly key: CallKey; readonly child?: string };

/** The same for the same call, whoever starts it. */
export function agentSessionId({ id, input: { agent } }: HostSession, key: CallKey, index: number): SessionId {
  const [, head = ''] = key.split('.');
  return agentSession(agent?.root ?? id, `agent-${head.slice(0, 16)}-${index}`);
}

/** A question waits with the approvals. */
export type CarriedOut = Exclude<Delegation, Question>;

type Begun = Exclude<CarriedOut, AgentDeed>;

export type Child = { readonly type: string; readonly args: readonly unknown[] } & Omit<ChildWorkflowOptions, 'args'>;

/** Null without one; a sentence when it is not started. */
export function childOf(session: HostSession, { key, child }: Opened, delegation: Begun): Child | string | null {
  if (delegation.kind === 'wait') return null;
  if (delegation.kind === 'agent') return startedAgent(session, key, child as SessionId, delegation);
  const { agent } = session.input;
  const input: DelegatedInput = {
    work: delegation,
    report: { to: session.id, key },
    ...(agent && { root: agent.root }),
  };
  return { type: DELEGATED_TYPE, args: [input] };
}

function startedAgent(session: HostSession, key: CallKey, child: SessionId, work: AgentWork): Child | string {
  const { granting } = session;
  if (granting === null) throw new Error('an agent without a run that starts it');
  const grant = session.delegations.agents.begin(key, child, work, granting);
  if (typeof grant === 'string') return grant;
  return agentChild(session, key, work, granting.snapshot.config, grant);
}

function agentChild(parent: HostSession, key: CallKey, work: AgentWork, config: Hash, grant: Grant) {
  const { type, title, prompt, depth, tools, traceparent, isolation } = work;
  const { visibility, attributes, handover, profile, sealed, agent: own } = parent.input;
  const { cwd, tags } = parent.facts.now.options;
  const agent: AgentOrigin = {
    type,
    depth,
    parent: parent.id,
    root: own?.root ?? parent.id,
    key,
    config,
    grant,
    path: [...(own?.path ?? []), title],
    ...(isolation && { isolation }),
    ...(tools && { tools }),
  };
  const input: HostInput = {
    options: { cwd, ...(tags && { tags }) },
    title,
    visibility,
    ...(attributes && { attributes }),
    ...(handover && { handover }),
    ...(profile && { profile }),
    ...(sealed && { sealed }),
    first: { id: key as string as MessageId, body: prompt, querySource: 'agent', ...(traceparent && { traceparent }) },
    until: 'run',
    agent,
  };
  return {
    type: WORKFLOW_TYPE,
    args: [input],
    memo: memoOfChild(input, agent),
    staticSummary: title,
    workflowTaskTimeout: profiles[profile ?? 'machine'].workflowTask,
  };
}

function memoOfChild({ options: { cwd }, title }: HostInput, agent: AgentOrigin) {
  const { [MEMO_KEY]: _own, [IMPORTED]: _file, ...inherited } = workflowInfo().memo ?? {};
  const facts = { turns: 0, tokens: 0, cents: 0, agent: agentFacts(agent) };
  const memo: SessionMemo = { phase: 'running', head: null, cwd, title, runs: 0, last: null, facts };
  return { ...inherited, [STARTED]: Date.now(), [MEMO_KEY]: memo };
}
