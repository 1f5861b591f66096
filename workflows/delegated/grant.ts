// An agent's share of its parent's limits (L69). It is part of what makes the session an agent, so
// no message changes it, and it covers all runs of the session together.
import { patched } from '@temporalio/workflow';
import type { AgentOrigin, Grant } from '../contract/delegation.ts';
import {
  noSpend,
  nothingSpent,
  totalTokens,
  type RemainingBudget,
  type Limits,
  type Rules,
  type RunSnapshot,
} from '../contract/loop.ts';
import { present } from '../contract/present.ts';
import type { NewLimits } from '../contract/session.ts';
import type { RunState } from '../machine/state.ts';
import type { HostSession } from './host-session.ts';
import type { RunTaken, SpentSince } from './shares.ts';

/**
 * The budgets of agents that may still be spent: granted by earlier runs, and by those since the
 * last message of a person.
 */
type ReservedBudgets = { readonly reservedBefore: RemainingBudget; readonly reservedSince: RemainingBudget };

/** The limits of the run under way. */
type LiveLimits = {
  readonly snapshot: RunSnapshot;
  readonly leftMs: number | null;
  takeWhole(): Limits | null;
  change(limits: NewLimits): void;
};

/** A session that may be an agent's, as far as its grant needs it. */
export type GrantedSession = {
  readonly input: { readonly agent?: AgentOrigin };
  /** `spent`: what the runs that have ended took. */
  readonly facts: { readonly now: SpentSince };
  readonly delegations: { readonly agents: ReservedBudgets };
};

const KEYS = ['maxBudgetUsd', 'maxTokens', 'timeoutMs'] as const;

/**
 * Returns what the session's next run may take, or the one under way from its beginning on. A limit
 * can be 0; without a grant the result is empty.
 */
export function remainingGrant({ input: { agent }, facts, delegations }: GrantedSession): Grant {
  const { maxBudgetUsd, maxTokens, timeoutMs } = agent?.grant ?? {};
  const { spend: { usd, usage } = noSpend, ms = 0 } = facts.now.spent ?? {};
  const { usd: reservedUsd = 0, tokens: reservedTokens = 0 } = delegations.agents.reservedBefore;
  const minus = (granted: number | undefined, used: number): number | undefined =>
    granted === undefined ? undefined : Math.max(0, granted - used);
  return present({
    maxBudgetUsd: minus(maxBudgetUsd, (usd ?? 0) + reservedUsd),
    maxTokens: minus(maxTokens, totalTokens(usage) + reservedTokens),
    timeoutMs: minus(timeoutMs, ms),
  });
}

/** Lowers the rules of a run that has just opened to what is left of the grant. */
export function withinGrant(rules: Rules, rest: Grant): Rules {
  const lowered = KEYS.flatMap((key) => {
    const most = rest[key];
    return most === undefined ? [] : [[key, Math.min(rules[key] ?? most, most)] as const];
  });
  return { ...rules, ...Object.fromEntries(lowered) };
}

/**
 * Lowers the rules of a run by what its agents were granted: it is theirs until they have ended
 * (L71).
 */
export function withoutReserved(rules: Rules, granted: RemainingBudget): Rules {
  const lower = lowerLimits(rules, granted);
  if (lower === rules) return rules;
  const usd = (rules.maxBudgetUsd ?? 0) - (lower.maxBudgetUsd ?? 0);
  const tokens = (rules.maxTokens ?? 0) - (lower.maxTokens ?? 0);
  return { ...lower, reserved: { usd, tokens } };
}

function lowerLimits(rules: Rules, { usd = 0, tokens = 0 }: RemainingBudget): Rules {
  const { maxBudgetUsd, maxTokens, waitAtUsd } = rules;
  if (usd === 0 && tokens === 0) return rules;
  return {
    ...rules,
    maxBudgetUsd: maxBudgetUsd === null ? null : Math.max(0, maxBudgetUsd - usd),
    maxTokens: maxTokens === null ? null : Math.max(0, maxTokens - tokens),
    ...(waitAtUsd !== undefined && { waitAtUsd: Math.max(0, waitAtUsd - usd) }),
  };
}

/**
 * Lowers the rules of a run that the end of an agent opened to what the runs since the last message
 * have left of the same limits, turns included (L71). Otherwise agents in the background could
 * begin each other for ever.
 */
export function withinPrompt(rules: Rules, { facts, delegations }: GrantedSession): Rules {
  const { spent: totals = nothingSpent, since = nothingSpent } = facts.now;
  const reserved = delegations.agents.reservedSince;
  const usd = (totals.spend.usd ?? 0) - (since.spend.usd ?? 0) + (reserved.usd ?? 0);
  const tokens = totalTokens(totals.spend.usage) - totalTokens(since.spend.usage) + (reserved.tokens ?? 0);
  const maxTurns = Math.max(0, rules.maxTurns - totals.turns + since.turns);
  return { ...lowerLimits(rules, { usd, tokens }), maxTurns };
}

/**
 * Returns the limits of a run that ends of agents opened, once a person's message has come to it:
 * all that a prompt has, on top of what the run has taken already.
 */
export function topUpForPrompt(whole: Limits, run: RunTaken, rest: Grant): NewLimits {
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

export const promptLimits = ({ maxTurns, maxBudgetUsd, maxTokens, timeoutMs }: Rules): Limits => ({
  maxTurns,
  maxBudgetUsd,
  maxTokens,
  timeoutMs,
});

/**
 * Gives the whole limits of a prompt to a run that only ends of agents had opened, because a
 * person's message has come to it (L71).
 */
export function bringPrompt(session: HostSession, limits: LiveLimits, { turn, spend }: RunState): void {
  const whole = limits.takeWhole();
  if (!whole || !patched('perdure-whole-prompt')) return;
  const { timeoutMs } = limits.snapshot.rules;
  const used = { turn: turn - 1, spend, ms: (timeoutMs ?? 0) - (limits.leftMs ?? 0) };
  limits.change(topUpForPrompt(whole, used, remainingGrant(session)));
  session.facts.beginPrompt(used);
  session.delegations.agents.beginPrompt();
}

/**
 * Returns a sentence that says why a person cannot give an agent's run this much; undefined when
 * its grant covers it.
 */
export function grantProblem(more: NewLimits, session: GrantedSession): string | undefined {
  const rest = remainingGrant(session);
  const beyond = KEYS.find((key) => more[key] !== undefined && more[key] > (rest[key] ?? Infinity));
  if (beyond === undefined) return undefined;
  const { root } = session.input.agent!;
  return `this agent has a share of the limits of session ${root}, and ${more[beyond]} is more than the ${rest[beyond]} that it has for ${beyond}: raise the limit of session ${root}, which then has more for the agents that it starts`;
}
