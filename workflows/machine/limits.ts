// What a run may use up: turns (L45) and money (L51). Each gives the move that ends the run, or null while there is some left.
import { type ModelLimits, type Rules, totalTokens } from '../contract/loop.ts';
import type { Move } from './events.ts';
import type { RunState } from './state.ts';

type End = Extract<Move, { do: 'end' }>;

export function budgetGone({ spend }: RunState, { maxBudgetUsd, maxTokens }: Rules): End | null {
  const spentUsd = spend.usd ?? 0;
  if (maxBudgetUsd !== null && spentUsd >= maxBudgetUsd) {
    return { do: 'end', terminal: { reason: 'budget_exceeded', limitUsd: maxBudgetUsd, spentUsd }, append: [] };
  }
  const spentTokens = totalTokens(spend.usage);
  if (maxTokens === null || spentTokens < maxTokens) return null;
  return { do: 'end', terminal: { reason: 'budget_exceeded', limitTokens: maxTokens, spentTokens }, append: [] };
}

/** Of the model that is called now (L19). */
export function modelLimits({ modelPosition }: RunState, { models }: Rules): ModelLimits {
  return models[modelPosition] ?? models[0];
}

export function turnsGone(state: RunState, rules: Rules): End | null {
  const turnNotTaken = state.turn + 1;
  if (turnNotTaken <= rules.maxTurns) return null;
  const reached = { limit: rules.maxTurns, turnNotTaken };
  return {
    do: 'end',
    terminal: { reason: 'max_turns', ...reached },
    append: [{ kind: 'notice', notice: { kind: 'max_turns_reached', ...reached } }],
  };
}
