// The limits of a run: turns (L45), money, tokens and time (L51), and how each ends it.
// The ends of a run: by a stop from outside (L47–L51), or by an error.
import type { Append, Call } from '../contract/activities.ts';
import { notRunItem } from '../contract/calls.ts';
import {
  type ModelLimits,
  noSpend,
  type RemainingBudget,
  type Rules,
  type RunLimit,
  type Spend,
  spentLimit,
  type StopCause,
  type Terminal,
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

export function stopTerminal(reason: 'aborted_streaming' | 'aborted_tools', stop: StopCause, rules: Rules): Terminal {
  return stop === 'timeout' ? { reason: 'timeout', limitMs: rules.timeoutMs ?? 0 } : { reason, by: stop };
}

/** A new user message speaks for itself; every other stop leaves a notice (L47). */
export function stopNotice(stop: StopCause): readonly Append[] {
  return stop === 'message' ? [] : [{ kind: 'notice', notice: { kind: 'interrupted' } }];
}

/** Shows an error. A recoverable one is shown only once nothing can recover it (L17, L25, L28). */
export function showError(terminal: Terminal & { readonly detail: string }): Extract<Move, { do: 'end' }> {
  return { do: 'end', terminal, append: [errorNotice(terminal.detail)] };
}

export function errorNotice(text: string): Append {
  return { kind: 'notice', notice: { kind: 'error', text } };
}

/** Returns the outcomes of open calls that will not run (L39). */
export function notRunOutcomes(calls: readonly Call[], note: string): readonly Append[] {
  const items = calls.filter((call) => !call.outcome).map((call) => notRunItem(call, note));
  return items.length > 0 ? [{ kind: 'outcomes', items }] : [];
}
