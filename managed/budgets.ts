// Budgets of sessions (G69). An amount is in cents of US dollars as the API writes it; a run option
// has US dollars.
import type { BetaManagedAgentsBudgetLimit } from '@anthropic-ai/sdk/resources/beta/sessions';
import { invalid, type ManagedError } from './errors.ts';
import { findFacts } from './models.ts';

export const budgetOf = (amount: string): BetaManagedAgentsBudgetLimit => ({
  type: 'limit',
  max_list_cost: { amount, currency: 'USD' },
});

/** `usd`: US dollars; null without a budget. */
export const budgetOfUsd = (usd: number | null): BetaManagedAgentsBudgetLimit | null =>
  usd === null ? null : budgetOf(formatCents(usd));

export const usdOf = (amount: string): number => Number(amount) / 100;

/** Rounds US dollars half up to cents (G26); a sum of floats may lie a hair below the half. */
export const formatCents = (usd: number): string => String(Math.round(Number((usd * 100).toFixed(6))));

/** Requires a list price of a model, which a budget is counted by. Throws ManagedError. */
export function requirePrice(model: string): void {
  if (findFacts(model)) return;
  const why = `model ${JSON.stringify(model.slice(0, 100))} has no list price: leave the budget out`;
  throw invalid(`budget: ${why}`, 'budget', 'model_not_budgetable');
}

export const createOnly = (): ManagedError =>
  invalid('budget: only a session that was created with one has it, until it is removed', 'budget', CREATE_ONLY);

export const notRaised = (why: string): ManagedError => invalid(`budget: ${why}`, 'budget', 'budget_not_raised');

const CREATE_ONLY = 'budget_create_only';
