// The limits of a run: turns (L45), money, tokens and time (L51), and how the run ends at one.
import {
  type Left,
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

/** The move that ends the run, or null while there is some left. */
export function budgetGone(state: RunState, rules: Rules): End | null {
  const limit = budgetReached(state, rules);
  return limit && limitEnd(state, rules, limit);
}

/** `kept`: what is to remain unspent. */
export function budgetReached(state: RunState, rules: Rules, kept: Spend = noSpend): 'cost' | 'tokens' | null {
  return spentLimit(leftOf(state, rules) ?? {}, kept);
}

export function turnsGone(state: RunState, rules: Rules): End | null {
  return state.turn + 1 <= rules.maxTurns ? null : limitEnd(state, rules, 'turns');
}

export function limitEnd({ spend, turn }: RunState, rules: Rules, limit: RunLimit): End {
  const { reserved = {} } = rules;
  switch (limit) {
    case 'cost': {
      const limitUsd = rounded((rules.maxBudgetUsd ?? 0) + (reserved.usd ?? 0));
      const held = reserved.usd ? { reservedUsd: rounded(reserved.usd) } : {};
      const spentUsd = spend.usd ?? 0;
      return { do: 'end', terminal: { reason: 'budget_exceeded', limitUsd, spentUsd, ...held }, append: [] };
    }
    case 'tokens': {
      const limitTokens = (rules.maxTokens ?? 0) + (reserved.tokens ?? 0);
      const held = reserved.tokens ? { reservedTokens: reserved.tokens } : {};
      const spentTokens = totalTokens(spend.usage);
      return { do: 'end', terminal: { reason: 'budget_exceeded', limitTokens, spentTokens, ...held }, append: [] };
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

/** A sum of parts of a limit is the limit again. */
const rounded = (usd: number): number => Math.round(usd * 1e9) / 1e9;

/** Null without a limit. */
export function leftOf({ spend }: Pick<RunState, 'spend'>, { maxBudgetUsd, maxTokens }: Rules): Left | null {
  if (maxBudgetUsd === null && maxTokens === null) return null;
  return {
    ...(maxBudgetUsd === null ? {} : { usd: maxBudgetUsd - (spend.usd ?? 0) }),
    ...(maxTokens === null ? {} : { tokens: maxTokens - totalTokens(spend.usage) }),
  };
}

/** The limits of the model that is called now (L19). */
export function modelLimits({ modelPosition, window }: RunState, { models }: Rules): ModelLimits {
  const limits = models[modelPosition] ?? models[0];
  return window ? { ...limits, window } : limits;
}
