// The limits of a run: turns (L45), money, tokens and time (L51), and how each ends it.
import {
  type RemainingBudget,
  type ModelLimits,
  noSpend,
  type Rules,
  type RunLimit,
  type Spend,
  spentLimit,
  totalTokens,
} from '../contract/loop.ts';
import type { Move } from './events.ts';
import type { RunState } from './state.ts';

type End = Extract<Move, { do: 'end' }>;

/** Returns the move that ends the run, or null while some of the budget is left. */
export function endIfBudgetSpent(state: RunState, rules: Rules): End | null {
  const limit = findSpentBudget(state, rules);
  return limit && endAtLimit(state, rules, limit);
}

/** Returns the limit of the run that is used up once `reserve` is kept back, or null. */
export function findSpentBudget(state: RunState, rules: Rules, reserve: Spend = noSpend): 'cost' | 'tokens' | null {
  return spentLimit(budgetLeft(state, rules) ?? {}, reserve);
}

export function endIfTurnsSpent(state: RunState, rules: Rules): End | null {
  return state.turn + 1 <= rules.maxTurns ? null : endAtLimit(state, rules, 'turns');
}

export function endAtLimit({ spend, turn }: RunState, rules: Rules, limit: RunLimit): End {
  const { reserved = {} } = rules;
  switch (limit) {
    case 'cost': {
      const limitUsd = roundUsd((rules.maxBudgetUsd ?? 0) + (reserved.usd ?? 0));
      const reservation = reserved.usd ? { reservedUsd: roundUsd(reserved.usd) } : {};
      const spentUsd = spend.usd ?? 0;
      return { do: 'end', terminal: { reason: 'budget_exceeded', limitUsd, spentUsd, ...reservation }, append: [] };
    }
    case 'tokens': {
      const limitTokens = (rules.maxTokens ?? 0) + (reserved.tokens ?? 0);
      const reservation = reserved.tokens ? { reservedTokens: reserved.tokens } : {};
      const spentTokens = totalTokens(spend.usage);
      return {
        do: 'end',
        terminal: { reason: 'budget_exceeded', limitTokens, spentTokens, ...reservation },
        append: [],
      };
    }
    case 'time':
      return { do: 'end', terminal: { reason: 'timeout', limitMs: rules.timeoutMs ?? 0 }, append: [] };
    case 'turns': {
      const reached = { limit: rules.maxTurns, turnNotTaken: turn + 1 };
      return {
        do: 'end',
        terminal: { reason: 'max_turns', ...reached },
        append: [{ kind: 'notice', notice: { kind: 'max_turns_reached', ...reached } }],
      };
    }
  }
}

/** Rounds, so that a sum of parts of a limit is the limit again. */
const roundUsd = (usd: number): number => Math.round(usd * 1e9) / 1e9;

/** Returns null without a limit. */
export function budgetLeft(
  { spend }: Pick<RunState, 'spend'>,
  { maxBudgetUsd, maxTokens }: Rules,
): RemainingBudget | null {
  if (maxBudgetUsd === null && maxTokens === null) return null;
  return {
    ...(maxBudgetUsd !== null && { usd: maxBudgetUsd - (spend.usd ?? 0) }),
    ...(maxTokens !== null && { tokens: maxTokens - totalTokens(spend.usage) }),
  };
}

/**
 * Returns what side work and agents may take: what is left of the run's limits, and of the
 * session's budget (G69). Null without either.
 */
export function spendableLeft(state: Pick<RunState, 'spend'>, rules: Rules): RemainingBudget | null {
  const own = budgetLeft(state, rules);
  const { waitAtUsd } = rules;
  if (waitAtUsd === undefined) return own;
  return { ...own, usd: Math.min(own?.usd ?? Infinity, waitAtUsd - (state.spend.usd ?? 0)) };
}

/** Tells whether nothing spendable is left once `reserve` is kept back. */
export const isSpendableUsed = (state: RunState, rules: Rules, reserve: Spend = noSpend): boolean =>
  spentLimit(spendableLeft(state, rules) ?? {}, reserve) !== null;

/** Tells whether the session's budget is reached, at which the run waits (G69). */
export const isAtSessionBudget = ({ spend }: Pick<RunState, 'spend'>, { waitAtUsd }: Rules): boolean =>
  waitAtUsd !== undefined && (spend.usd ?? 0) >= waitAtUsd;

/** Returns the limits of the model that is called now (L19). */
export function modelLimits({ modelPosition, window }: RunState, { models }: Rules): ModelLimits {
  const limits = models[modelPosition] ?? models[0];
  return window ? { ...limits, window } : limits;
}
