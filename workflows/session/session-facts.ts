// Describes a session to others: by its memo, with the numbers over all its runs, which needs no
// worker (O1), and by its view.
import type { AgentOrigin } from '../contract/delegation.ts';
import { agentFacts, type QuerySource, type SessionFacts } from '../contract/facts.ts';
import { addSpend, nothingSpent, type SpentTotals, totalTokens } from '../contract/loop.ts';
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
import type { AnswerRecord, PassedOver } from '../contract/people.ts';
import type { WaitingCall } from '../contract/waits.ts';
import type { RunState } from '../machine/state.ts';
import type { CarriedFacts, Carry } from './session-state.ts';
import { present } from '../contract/present.ts';

type LiveRun = {
  readonly state: RunState;
  readonly parkedUntil: number | null;
  /** Present once the run has opened. */
  readonly models?: readonly string[];
};

function countFacts(
  { spent: totals = nothingSpent, options, querySource }: Pick<ShownFacts, 'spent' | 'options' | 'querySource'>,
  { run, pending, agent }: Pick<SessionNow, 'run' | 'pending' | 'agent'>,
): SessionFacts {
  const model = run?.models?.[run.state.modelPosition] ?? totals.model ?? options.model;
  const { usage, usd } = run ? addSpend(totals.spend, run.state.spend) : totals.spend;
  const askedTimes = pending.flatMap(({ askedAt }) => (askedAt === undefined ? [] : [askedAt]));
  return {
    ...present({ model }),
    turns: totals.turns + (run && run.models ? run.state.turn : 0),
    tokens: totalTokens(usage),
    // Whole thousandths: a rounding error is not worth an event.
    cents: usd === null ? null : Math.round(usd * 100_000) / 1_000,
    ...(askedTimes.length > 0 && { waitingSince: Math.min(...askedTimes) }),
    ...present({ tags: options.tags }),
    ...(agent && { agent: agentFacts(agent) }),
    ...(querySource && { querySource }),
  };
}

type ShownFacts = {
  readonly head: Hash | null;
  readonly options: RunOptions;
  readonly runs: number;
  readonly last: RunSummary | null;
  readonly host?: SessionHost | null;
  readonly spent?: SpentTotals;
  readonly querySource?: QuerySource | undefined;
  readonly suggestion?: SessionMemo['suggestion'];
};

/** A session as its memo and its view show it. */
type ShownSession = {
  readonly id: SessionId;
  readonly input: { readonly title: string; readonly agent?: AgentOrigin };
  readonly phase: Phase | null;
  readonly run: LiveRun | null;
  readonly inbox: { readonly waiting: readonly UserMessage[] };
  readonly approvals: { readonly pending: readonly PendingApproval[]; readonly answered: readonly AnswerRecord[] };
  readonly waits: { readonly open: readonly WaitingCall[] };
  readonly delegations: {
    readonly agents: {
      readonly background: readonly unknown[];
      readonly asks: { readonly waiting: readonly PendingApproval[] };
    };
  };
};

export function sessionNow({
  id: session,
  input: { title, agent },
  phase,
  run,
  inbox,
  approvals,
  delegations,
  waits: { open: waits },
}: ShownSession): SessionNow {
  // Questions from sessions of its agents are listed behind its own (L70).
  const pending = [...approvals.pending, ...delegations.agents.asks.waiting];
  const { answered } = approvals;
  const background = delegations.agents.background.length;
  const queued = inbox.waiting;
  return { session, title, phase, run, queued, pending, waits, answered, background, ...(agent && { agent }) };
}

type SessionNow = {
  readonly session: SessionId;
  readonly queued: readonly UserMessage[];
  readonly title: string;
  readonly phase: Phase | null;
  readonly run: LiveRun | null;
  readonly pending: readonly PendingApproval[];
  readonly waits: readonly WaitingCall[];
  readonly answered: readonly AnswerRecord[];
  readonly background: number;
  readonly agent?: AgentOrigin;
};

/** `withFacts`: false for a session of an earlier release, which tells no numbers. */
export function memoOf(facts: ShownFacts, now: SessionNow, withFacts: boolean): SessionMemo {
  const { title, phase, run, pending, waits, answered, background } = now;
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
    ...(approvals.length > 0 && { approvals }),
    ...(waits.length > 0 && { waits: waits.length }),
    ...(run?.state.isAtBudget && { atBudget: true as const }),
    ...(answered.length > 0 && { answered }),
    ...present({ parkedUntil: parkedUntil ?? undefined }),
    ...(host && { host }),
    ...(phase === 'idle' && background > 0 && { background }),
    ...(phase === 'idle' && suggestion?.run === runs && { suggestion }),
    ...(withFacts && { facts: countFacts(facts, now) }),
  };
}

/** `passedOver`: signals that did nothing. */
export function viewOf(
  { head, runs, last }: ShownFacts,
  { session, phase, run, queued, pending, waits }: SessionNow,
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
    ...(waits.length > 0 && { waits }),
    ...(passedOver.length > 0 && { passedOver }),
  };
}

type Parts = Pick<Carry, 'alerts' | 'webhooks' | 'answered' | 'steered' | 'canceller' | 'once' | 'elicited' | 'pauses'>;

/** Splits a handover into the parts that the session's parts take up again. `facts`: the rest. */
export function splitCarry(carry: Carry): Parts & { readonly facts: CarriedFacts } {
  const {
    inbox: _inbox,
    run: _run,
    agents: _agents,
    early: _early,
    givenUp: _givenUp,
    alerts,
    webhooks,
    answered,
    steered,
    canceller,
    once,
    elicited,
    pauses,
    ...facts
  } = carry;
  const parts = { alerts, webhooks, answered, steered, canceller, once, elicited, pauses };
  return { ...(parts as Parts), facts };
}
