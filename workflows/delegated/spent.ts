// Counts over a session's runs what runs and agents have spent (L69, L71).
import type { AgentSpending } from '../contract/delegation.ts';
import { addSpend, nothingSpent, type Spend, type SpentTotals } from '../contract/loop.ts';
import type { WorkingAgent } from './shares.ts';

/** The spending of a run until now. `ms`: of its runtime limit. */
export type RunTaken = { readonly turn: number; readonly spend: Spend; readonly ms: number };

export type SpentSince = { readonly spent?: SpentTotals; readonly since?: SpentTotals };

/** The spending of an agent that no run counts. */
export type LateSpent = AgentSpending & Pick<WorkingAgent, 'earlier'>;

export type LateBill = Pick<LateSpent, 'spend' | 'earlier'>;

/**
 * Adds the spending of late agents to that of the session. An agent of an earlier prompt does not
 * count for the last one.
 */
export function billLate({ spent: totals = nothingSpent, since }: SpentSince, late: readonly LateBill[]): SpentSince {
  const billed = (to: SpentTotals, by: readonly LateBill[]): SpentTotals => ({
    ...to,
    spend: by.reduce((sum, one) => addSpend(sum, one.spend), to.spend),
  });
  const earlier = late.filter((each) => each.earlier);
  return { spent: billed(totals, late), ...(since && earlier.length > 0 && { since: billed(since, earlier) }) };
}
