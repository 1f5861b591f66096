// The session's budget (G69): what all runs of a session and their agents may cost together.
import type { RemainingBudget, Rules, Spend, SpentTotals } from '../contract/loop.ts';
import type { OptionChanges, RunOptions } from '../contract/session.ts';
import type { RunState } from '../machine/state.ts';

/** A session as far as its budget concerns it. `spent`: what the runs that have ended took. */
export type BudgetedSession = {
  readonly facts: { readonly now: { readonly options: RunOptions; readonly spent?: SpentTotals } };
  readonly delegations: { readonly agents: { readonly reservedBefore: RemainingBudget; readonly uncounted: Spend } };
};

/** Adds to the rules of a run what the session's budget leaves for it, from its beginning on. */
export function withSessionBudget(rules: Rules, { facts, delegations }: BudgetedSession): Rules {
  const { options, spent } = facts.now;
  if (options.sessionBudgetUsd === undefined) return rules;
  const used = (spent?.spend.usd ?? 0) + (delegations.agents.reservedBefore.usd ?? 0);
  return { ...rules, waitAtUsd: Math.max(0, options.sessionBudgetUsd - used) };
}

/**
 * Returns a sentence that says why the session does not take the budget of these changes, or
 * undefined. `run`: null when nothing runs.
 */
export function sessionBudgetProblem(
  { sessionBudgetUsd: budget }: OptionChanges,
  session: BudgetedSession & { readonly run: { readonly state: Pick<RunState, 'spend'> } | null },
): string | undefined {
  if (typeof budget !== 'number') return undefined;
  const spends = [session.facts.now.spent?.spend, session.run?.state.spend, session.delegations.agents.uncounted];
  const usd = spends.reduce((sum, spend) => sum + (spend?.usd ?? 0), 0);
  if (budget > usd) return undefined;
  return `the session has cost ${usd.toFixed(4)} US dollars already: give a budget above that, or null for none`;
}

/** Lowers the budget by what agents have reported and the run has not counted yet. */
export function withoutUncounted(rules: Rules, { usd }: Spend): Rules {
  const { waitAtUsd } = rules;
  return waitAtUsd === undefined || !usd ? rules : { ...rules, waitAtUsd: Math.max(0, waitAtUsd - usd) };
}
