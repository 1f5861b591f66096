// What runs and agents have taken, as a session counts it over its runs (L69, L71).
import type { AgentSpent } from '../contract/delegation.ts';
import { addSpend, nothingSpent, type Spend, type Spent } from '../contract/loop.ts';
import type { Working } from './shares.ts';

/** What a run has taken until now. `ms`: of its runtime limit. */
export type RunTaken = { readonly turn: number; readonly spend: Spend; readonly ms: number };

export type SpentSince = { readonly spent?: Spent; readonly since?: Spent };

/** What one took that no run counts any longer. */
export type LateSpent = AgentSpent & Pick<Working, 'earlier'>;

export type Billed = Pick<LateSpent, 'spend' | 'earlier'>;

/**
 * What late agents took counts in what the session has spent, and that of earlier prompts in none
 * of the last one's.
 */
export function billLate({ spent = nothingSpent, since }: SpentSince, late: readonly Billed[]): SpentSince {
  const billed = (to: Spent, by: readonly Billed[]): Spent => ({
    ...to,
    spend: by.reduce((sum, one) => addSpend(sum, one.spend), to.spend),
  });
  const earlier = late.filter((each) => each.earlier);
  return { spent: billed(spent, late), ...(since && earlier.length > 0 && { since: billed(since, earlier) }) };
}
