// An agent's share of its parent's limits (L69). It lies in what makes the session an agent, which
// nothing that is sent to it changes, and holds for all its runs together.
import { patched } from '@temporalio/workflow';
import type { AgentOrigin, Grant } from '../contract/delegation.ts';
import {
  noSpend,
  nothingSpent,
  totalTokens,
  type Left,
  type Limits,
  type Rules,
  type RunSnapshot,
} from '../contract/loop.ts';
import type { TopUp } from '../contract/session.ts';
import type { RunState } from '../machine/state.ts';
import type { HostSession } from './host-session.ts';
import type { RunTaken, SpentSince } from './spent.ts';

/** Granted by runs before and not known to be left; by those since the last message of a person. */
type Reserved = { readonly reservedBefore: Left; readonly reservedSince: Left };

/** The limits of the run under way. */
type LiveLimits = {
  readonly snapshot: RunSnapshot;
  readonly leftMs: number | null;
  takeWhole(): Limits | null;
  raise(more: TopUp): void;
};

/** A session that may be an agent's. */
export type Granted = {
  readonly input: { readonly agent?: AgentOrigin };
  /** Of the runs that have ended. */
  readonly facts: { readonly now: SpentSince };
  readonly delegations: { readonly agents: Reserved };
};

const KEYS = ['maxBudgetUsd', 'maxTokens', 'timeoutMs'] as const;

/**
 * All that its next run, or the one under way from its beginning on, may take; none of a limit can
 * be left. Empty without a grant.
 */
export function restOfGrant({ input: { agent }, facts, delegations }: Granted): Grant {
  const { maxBudgetUsd, maxTokens, timeoutMs } = agent?.grant ?? {};
  const { spend: { usd, usage } = noSpend, ms = 0 } = facts.now.spent ?? {};
  const { usd: reservedUsd = 0, tokens: reservedTokens = 0 } = delegations.agents.reservedBefore;
  return {
    ...(maxBudgetUsd === undefined ? {} : { maxBudgetUsd: Math.max(0, maxBudgetUsd - (usd ?? 0) - reservedUsd) }),
    ...(maxTokens === undefined ? {} : { maxTokens: Math.max(0, maxTokens - totalTokens(usage) - reservedTokens) }),
    ...(timeoutMs === undefined ? {} : { timeoutMs: Math.max(0, timeoutMs - ms) }),
  };
}

/** The rules of a run that has just opened, within what is left. */
export function withinGrant(rules: Rules, rest: Grant): Rules {
  const lowered = KEYS.flatMap((key) => {
    const most = rest[key];
    return most === undefined ? [] : [[key, Math.min(rules[key] ?? most, most)] as const];
  });
  return { ...rules, ...Object.fromEntries(lowered) };
}

/**
 * The rules of a run beside its agents: what they were granted is theirs until they have ended
 * (L71).
 */
export function withoutReserved(rules: Rules, granted: Left): Rules {
  const lower = loweredBy(rules, granted);
  if (lower === rules) return rules;
  const usd = (rules.maxBudgetUsd ?? 0) - (lower.maxBudgetUsd ?? 0);
  const tokens = (rules.maxTokens ?? 0) - (lower.maxTokens ?? 0);
  return { ...lower, reserved: { usd, tokens } };
}

function loweredBy(rules: Rules, { usd = 0, tokens = 0 }: Left): Rules {
  const { maxBudgetUsd, maxTokens } = rules;
  if (usd === 0 && tokens === 0) return rules;
  return {
    ...rules,
    maxBudgetUsd: maxBudgetUsd === null ? null : Math.max(0, maxBudgetUsd - usd),
    maxTokens: maxTokens === null ? null : Math.max(0, maxTokens - tokens),
  };
}

/**
 * A run that nobody asked for: the end of an agent opened it, and it has what the runs since the
 * last message have left of the same limits, turns too (L71). Without, agents in the background
 * could begin each other for ever.
 */
export function withinPrompt(rules: Rules, { facts, delegations }: Granted): Rules {
  const { spent = nothingSpent, since = nothingSpent } = facts.now;
  const reserved = delegations.agents.reservedSince;
  const usd = (spent.spend.usd ?? 0) - (since.spend.usd ?? 0) + (reserved.usd ?? 0);
  const tokens = totalTokens(spent.spend.usage) - totalTokens(since.spend.usage) + (reserved.tokens ?? 0);
  const maxTurns = Math.max(0, rules.maxTurns - spent.turns + since.turns);
  return { ...loweredBy(rules, { usd, tokens }), maxTurns };
}

/**
 * The limits of such a run when a person's message has come to it: all that a prompt has, beside
 * what the run has taken already.
 */
export function withPrompt(whole: Limits, run: RunTaken, rest: Grant): TopUp {
  const { turn, spend, ms } = run;
  const { maxTurns, maxBudgetUsd, maxTokens, timeoutMs } = whole;
  const all = {
    maxTurns: maxTurns + turn,
    maxBudgetUsd: maxBudgetUsd === null ? null : maxBudgetUsd + (spend.usd ?? 0),
    maxTokens: maxTokens === null ? null : maxTokens + totalTokens(spend.usage),
    timeoutMs: timeoutMs === null ? null : timeoutMs + ms,
  };
  const within = KEYS.flatMap((key) => {
    const most = all[key];
    return most === null ? [] : [[key, Math.min(most, rest[key] ?? most)] as const];
  });
  return { maxTurns: all.maxTurns, ...Object.fromEntries(within) };
}

export const limitsOf = ({ maxTurns, maxBudgetUsd, maxTokens, timeoutMs }: Rules): Limits => ({
  maxTurns,
  maxBudgetUsd,
  maxTokens,
  timeoutMs,
});

/**
 * A person's message has come to a run that only ends of agents had opened, with what a prompt
 * before had left (L71).
 */
export function bringPrompt(session: HostSession, limits: LiveLimits, { turn, spend }: RunState): void {
  const whole = limits.takeWhole();
  if (!whole || !patched('perdure-whole-prompt')) return;
  const { timeoutMs } = limits.snapshot.rules;
  const taken = { turn: turn - 1, spend, ms: (timeoutMs ?? 0) - (limits.leftMs ?? 0) };
  limits.raise(withPrompt(whole, taken, restOfGrant(session)));
  session.facts.beginPrompt(taken);
  session.delegations.agents.beginPrompt();
}

/**
 * Why a person cannot give a run of an agent this much, a sentence; undefined when its grant covers
 * it.
 */
export function grantProblem(more: TopUp, session: Granted): string | undefined {
  const rest = restOfGrant(session);
  const beyond = KEYS.find((key) => more[key] !== undefined && more[key] > (rest[key] ?? Infinity));
  if (beyond === undefined) return undefined;
  const { root } = session.input.agent!;
  return `this agent has a share of the limits of session ${root}, and ${more[beyond]} is more than the ${rest[beyond]} that it has for ${beyond}: raise the limit of session ${root}, which then has more for the agents that it starts`;
}
