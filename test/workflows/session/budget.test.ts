import { expect, test } from 'vitest';
import { noSpend } from '../../../workflows/contract/loop.ts';
import {
  type BudgetedSession,
  sessionBudgetProblem,
  withoutUncounted,
  withSessionBudget,
} from '../../../workflows/session/budget.ts';
import { withoutReserved } from '../../../workflows/delegated/grant.ts';
import { rules, usd } from '../../support/machine.ts';

function session(budget: number | undefined, taken: { before?: number; reserved?: number; uncounted?: number } = {}) {
  const { before = 0, reserved = 0, uncounted = 0 } = taken;
  return {
    facts: {
      now: {
        options: { cwd: '/', ...(budget !== undefined && { sessionBudgetUsd: budget }) },
        spent: { turns: 1, spend: usd(before) },
      },
    },
    delegations: { agents: { reservedBefore: { usd: reserved }, uncounted: usd(uncounted) } },
  } satisfies BudgetedSession;
}

test('a run has what earlier runs and the shares of their agents leave of the budget, and never less than nothing', () => {
  expect(withSessionBudget(rules, session(5, { before: 1, reserved: 0.5 }))).toMatchObject({ waitAtUsd: 3.5 });
  expect(withSessionBudget(rules, session(1, { before: 3 }))).toMatchObject({ waitAtUsd: 0 });
  expect(withSessionBudget(rules, session(0))).toMatchObject({ waitAtUsd: 0 });
});

test('rules of a session without a budget stay as they are', () => {
  expect(withSessionBudget(rules, session(undefined))).toBe(rules);
  expect(withoutUncounted(rules, usd(1))).toBe(rules);
  expect(withoutReserved(rules, { usd: 1 })).not.toHaveProperty('waitAtUsd');
});

test('what agents hold, or have reported and the run has not counted, is none of the run’s own (L69)', () => {
  const budgeted = withSessionBudget(rules, session(5));
  expect(withoutReserved(budgeted, { usd: 2 })).toMatchObject({ waitAtUsd: 3 });
  expect(withoutUncounted(budgeted, usd(1.5))).toMatchObject({ waitAtUsd: 3.5 });
  expect(withoutUncounted(budgeted, noSpend)).toBe(budgeted);
});

test('a budget must be above all that the session has cost, the run under way and its agents included', () => {
  const used = session(5, { before: 1, uncounted: 0.25 });
  const problem = (budget: number | null | undefined, spent: number | null = 0.5) =>
    sessionBudgetProblem(budget === undefined ? {} : { sessionBudgetUsd: budget }, {
      ...used,
      run: spent === null ? null : { state: { spend: usd(spent) } },
    });
  expect(problem(1.75)).toContain('has cost 1.7500 US dollars already');
  expect(problem(1.76)).toBeUndefined();
  expect(problem(1.26, null)).toBeUndefined();
  expect(problem(1.25, null)).toContain('above that');
  expect(problem(null)).toBeUndefined();
  expect(problem(undefined)).toBeUndefined();
});
