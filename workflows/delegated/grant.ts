// An agent's share of its parent's limits (L69). It lies in what makes the session an agent, which nothing that is sent to it changes, and
// holds for all its runs together.
import type { AgentOrigin, Grant } from '../contract/delegation.ts';
import { noSpend, nothingSpent, totalTokens, type Left, type Rules, type Spent } from '../contract/loop.ts';
import type { TopUp } from '../contract/session.ts';

/** A session that may be an agent's. */
export type Granted = {
  readonly input: { readonly agent?: AgentOrigin };
  /** Of the runs that have ended. */
  readonly facts: { readonly now: { readonly spent?: Spent; readonly since?: Spent } };
  readonly delegations: { readonly agents: { readonly reservedBefore: Left } };
};

const KEYS = ['maxBudgetUsd', 'maxTokens', 'timeoutMs'] as const;

/** All that its next run, or the one under way from its beginning on, may take; none of a limit can be left. Empty without a grant. */
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

/** The rules of a run beside which agents work in the background: what they were granted is theirs until they have ended (L71). */
export function withoutReserved(rules: Rules, { usd = 0, tokens = 0 }: Left): Rules {
  const { maxBudgetUsd, maxTokens } = rules;
  if (usd === 0 && tokens === 0) return rules;
  return {
    ...rules,
    maxBudgetUsd: maxBudgetUsd === null ? null : Math.max(0, maxBudgetUsd - usd),
    maxTokens: maxTokens === null ? null : Math.max(0, maxTokens - tokens),
  };
}

/**
 * A run that nobody asked for: the end of an agent opened it, and it has what the runs since the last message have left of the same limits,
 * turns too (L71). Without, agents in the background could begin each other for ever.
 */
export function withinPrompt(rules: Rules, { facts, delegations }: Granted): Rules {
  const { spent = nothingSpent, since = nothingSpent } = facts.now;
  const reserved = delegations.agents.reservedBefore;
  const usd = (spent.spend.usd ?? 0) - (since.spend.usd ?? 0) + (reserved.usd ?? 0);
  const tokens = totalTokens(spent.spend.usage) - totalTokens(since.spend.usage) + (reserved.tokens ?? 0);
  const maxTurns = Math.max(0, rules.maxTurns - spent.turns + since.turns);
  return { ...withoutReserved(rules, { usd, tokens }), maxTurns };
}

/** Why a person cannot give a run of an agent this much, a sentence; undefined when its grant covers it. */
export function grantProblem(more: TopUp, session: Granted): string | undefined {
  const rest = restOfGrant(session);
  const beyond = KEYS.find((key) => more[key] !== undefined && more[key] > (rest[key] ?? Infinity));
  if (beyond === undefined) return undefined;
  const { root } = session.input.agent!;
  return `this agent has a share of the limits of session ${root}, and ${more[beyond]} is more than the ${rest[beyond]} that it has for ${beyond}: raise the limit of session ${root}, which then has more for the agents that it starts`;
}

/** The parent keeps a share as large as each of those that it starts together. */
export function shareOf({ usd, tokens }: Left, shares: number): Left {
  return {
    ...(usd === undefined ? {} : { usd: usd / shares }),
    ...(tokens === undefined ? {} : { tokens: Math.floor(tokens / shares) }),
  };
}

export function isNothing({ usd, tokens }: Left): boolean {
  return (usd !== undefined && usd <= 0) || (tokens !== undefined && tokens < 1);
}

export function sumOf(granted: readonly Left[]): Required<Left> {
  const sum = (key: keyof Left): number => granted.reduce((total, one) => total + (one[key] ?? 0), 0);
  return { usd: sum('usd'), tokens: sum('tokens') };
}
