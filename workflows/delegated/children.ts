// Describes the workflows that do the work of calls: one that runs an activity or a workflow of the
// user's (L63), or the session of an agent (L66).
import { workflowInfo, type ChildWorkflowOptions } from '@temporalio/workflow';
import {
  DELEGATED_TYPE,
  type AgentRequest,
  type AgentOrigin,
  type AgentWork,
  type DelegatedInput,
  type Delegation,
  type Grant,
  type QuestionWork,
} from '../contract/delegation.ts';
import { agentFacts } from '../contract/facts.ts';
import { agentSessionId, type CallKey, type Hash, type MessageId, type SessionId } from '../contract/ids.ts';
import { profiles } from '../contract/profiles.ts';
import { MEMO_KEY, WORKFLOW_TYPE, type SessionMemo } from '../contract/session.ts';
import type { HostInput, HostSession } from './host-session.ts';

/**
 * Memo keys of the client that are about one session alone, and are not inherited: its start, and
 * the file that it was imported from.
 */
const STARTED_KEY = 'perdureStarted';
const IMPORTED_KEY = 'perdureImported';

type DelegationRef = { readonly key: CallKey; readonly child?: string };

/** The same call always has the same id, in whichever workflow run it begins. */
export function childSessionId({ id, input: { agent } }: HostSession, key: CallKey, index: number): SessionId {
  const [, head = ''] = key.split('.');
  return agentSessionId(agent?.root ?? id, `agent-${head.slice(0, 16)}-${index}`);
}

/** Work that the workflow does itself; a question waits with the approvals instead. */
export type DelegatedTask = Exclude<Delegation, QuestionWork>;

type ChildWork = Exclude<DelegatedTask, AgentRequest>;

export type Child = { readonly type: string; readonly args: readonly unknown[] } & Omit<ChildWorkflowOptions, 'args'>;

/**
 * Returns null where a timer or somebody outside does the work, and a sentence when the child may
 * not start.
 */
export function childOf(
  session: HostSession,
  { key, child }: DelegationRef,
  delegation: ChildWork,
): Child | string | null {
  if (delegation.kind === 'wait' || delegation.kind === 'outside') return null;
  if (delegation.kind === 'agent') return grantChild(session, key, child as SessionId, delegation);
  const { agent } = session.input;
  const input: DelegatedInput = {
    work: delegation,
    report: { to: session.id, key },
    ...(agent && { root: agent.root }),
  };
  return { type: DELEGATED_TYPE, args: [input] };
}

function grantChild(session: HostSession, key: CallKey, child: SessionId, work: AgentWork): Child | string {
  const { granting } = session;
  if (granting === null) throw new Error('an agent without a run that starts it');
  const grant = session.delegations.agents.begin(key, child, work, granting);
  if (typeof grant === 'string') return grant;
  return agentChildOf(session, { key, work, config: granting.snapshot.config, grant });
}

type AgentStart = {
  readonly key: CallKey;
  readonly work: AgentWork;
  readonly config: Hash;
  readonly grant: Grant;
};

function agentChildOf(parent: HostSession, { key, work, config, grant }: AgentStart) {
  const { type, title, prompt, depth, tools, traceparent, isolation } = work;
  const { visibility, attributes, handover, profile, sealed, agent: own } = parent.input;
  const { options, host, workspace } = parent.facts.now;
  const { cwd, tags } = options;
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
    ...(host && { host }),
    ...(host && workspace && !isolation && { place: workspace }),
    ...(parent.recordsThreads && { thread: true as const }),
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
  const { [MEMO_KEY]: _own, [IMPORTED_KEY]: _file, ...inherited } = workflowInfo().memo ?? {};
  const facts = { turns: 0, tokens: 0, cents: 0, agent: agentFacts(agent) };
  const memo: SessionMemo = { phase: 'running', head: null, cwd, title, runs: 0, last: null, facts };
  return { ...inherited, [STARTED_KEY]: Date.now(), [MEMO_KEY]: memo };
}
