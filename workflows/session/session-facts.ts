// A session as others see it: without a worker its memo, with the numbers over all its runs (O1),
// else its view.
import type { AgentOrigin } from '../contract/delegation.ts';
import { agentFacts, type QuerySource, type SessionFacts } from '../contract/facts.ts';
import { addSpend, nothingSpent, type Spent, totalTokens } from '../contract/loop.ts';
import type { Hash, SessionId } from '../contract/ids.ts';
import {
  LISTED_APPROVALS,
  type PendingApproval,
  type Phase,
  type RunOptions,
  type RunSummary,
  type SessionHost,
  type SessionMemo,
  type SessionView,
  type UserMessage,
} from '../contract/session.ts';
import type { Answered, PassedOver } from '../contract/people.ts';
import type { RunState } from '../machine/state.ts';
import type { CarriedFacts, Carry } from './session-state.ts';

type LiveRun = {
  readonly state: RunState;
  readonly parkedUntil: number | null;
  /** Once it has opened. */
  readonly models?: readonly string[];
};

function factsNow(
  { spent = nothingSpent, options, querySource }: Pick<Facts, 'spent' | 'options' | 'querySource'>,
  { run, pending, agent }: Pick<Now, 'run' | 'pending' | 'agent'>,
): SessionFacts {
  const model = run?.models?.[run.state.modelPosition] ?? spent.model ?? options.model;
  const { usage, usd } = run ? addSpend(spent.spend, run.state.spend) : spent.spend;
  const asked = pending.flatMap(({ askedAt }) => (askedAt === undefined ? [] : [askedAt]));
  return {
    ...(model === undefined ? {} : { model }),
    turns: spent.turns + (run && run.models ? run.state.turn : 0),
    tokens: totalTokens(usage),
    // Whole thousandths: no rounding error is worth an event.
    cents: usd === null ? null : Math.round(usd * 100_000) / 1_000,
    ...(asked.length === 0 ? {} : { waitingSince: Math.min(...asked) }),
    ...(options.tags === undefined ? {} : { tags: options.tags }),
    ...(agent && { agent: agentFacts(agent) }),
    ...(querySource && { querySource }),
  };
}

export type Facts = {
  readonly head: Hash | null;
  readonly options: RunOptions;
  readonly runs: number;
  readonly last: RunSummary | null;
  readonly host?: SessionHost | null;
  readonly spent?: Spent;
  readonly querySource?: QuerySource | undefined;
  readonly suggestion?: SessionMemo['suggestion'];
};

/** A session, as those see it whom it tells of itself. */
export type Shown = {
  readonly id: SessionId;
  readonly input: { readonly title: string; readonly agent?: AgentOrigin };
  readonly phase: Phase | null;
  readonly run: LiveRun | null;
  readonly inbox: { readonly waiting: readonly UserMessage[] };
  readonly approvals: { readonly pending: readonly PendingApproval[]; readonly answered: readonly Answered[] };
  readonly delegations: {
    readonly agents: {
      readonly background: readonly unknown[];
      readonly asks: { readonly waiting: readonly PendingApproval[] };
    };
  };
};

export function nowOf({ id: session, input: { title, agent }, phase, run, inbox, approvals, delegations }: Shown): Now {
  // What people are asked in sessions of its agents is listed behind its own (L70).
  const pending = [...approvals.pending, ...delegations.agents.asks.waiting];
  const { answered } = approvals;
  const background = delegations.agents.background.length;
  return { session, title, phase, run, queued: inbox.waiting, pending, answered, background, ...(agent && { agent }) };
}

type Now = {
  readonly session: SessionId;
  readonly queued: readonly UserMessage[];
  readonly title: string;
  readonly phase: Phase | null;
  readonly run: LiveRun | null;
  readonly pending: readonly PendingApproval[];
  readonly answered: readonly Answered[];
  readonly background: number;
  readonly agent?: AgentOrigin;
};

/** `withFacts`: a session of an earlier release tells no numbers. */
export function memoOf(facts: Facts, now: Now, withFacts: boolean): SessionMemo {
  const { title, phase, run, pending, answered, background } = now;
  const { head, options, runs, last, host, suggestion } = facts;
  const approvals = pending.slice(0, LISTED_APPROVALS).map((one) => (one.question ? { ...one, question: {} } : one));
  const parkedUntil = run?.parkedUntil ?? null;
  return {
    phase: phase ?? 'running',
    head,
    cwd: options.cwd,
    title,
    runs,
    last,
    ...(approvals.length > 0 ? { approvals } : {}),
    ...(answered.length > 0 ? { answered } : {}),
    ...(parkedUntil === null ? {} : { parkedUntil }),
    ...(host ? { host } : {}),
    ...(phase === 'idle' && background > 0 ? { background } : {}),
    ...(phase === 'idle' && suggestion?.run === runs ? { suggestion } : {}),
    ...(withFacts ? { facts: factsNow(facts, now) } : {}),
  };
}

/** `passedOver`: signals that did nothing. */
export function viewOf(
  { head, runs, last }: Facts,
  { session, phase, run, queued, pending }: Now,
  passedOver: readonly PassedOver[],
): SessionView {
  const state = run?.state;
  return {
    session,
    phase: phase ?? 'idle',
    head: state?.head ?? head,
    run: runs,
    iteration: state?.iteration ?? 0,
    turn: state?.turn ?? 0,
    queued: queued.map((message) => message.id),
    transitions: state?.transitions ?? [],
    counts: state?.counts ?? {},
    parkedUntil: run?.parkedUntil ?? null,
    approvals: pending,
    last: last && { run: last.run, reason: last.terminal.reason },
    ...(passedOver.length > 0 && { passedOver }),
  };
}

// A session as it was handed over, in parts: each for the part of it that takes it up again.

type Parts = Pick<Carry, 'alerts' | 'answered' | 'steered' | 'canceller' | 'once' | 'elicited' | 'pauses'>;

/** `facts`: all that no part has to itself. */
export function partsOf(carry: Carry): Parts & { readonly facts: CarriedFacts } {
  const {
    inbox: _inbox,
    run: _run,
    agents: _agents,
    early: _early,
    givenUp: _givenUp,
    alerts,
    answered,
    steered,
    canceller,
    once,
    elicited,
    pauses,
    ...facts
  } = carry;
  const parts = { alerts, answered, steered, canceller, once, elicited, pauses };
  return { ...(parts as Parts), facts };
}
