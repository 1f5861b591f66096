// Keeps the run's own calls from spending what its agents hold of its limits (L69, L71).
import { patched } from '@temporalio/workflow';
import type { RemainingBudget, Rules } from '../contract/loop.ts';
import { withoutReserved } from './grant.ts';
import { hasAny, sumBudgets } from './shares.ts';

/**
 * Sessions of earlier releases spent a second time the grant of a foreground agent that was lost.
 */
const LOST_GRANTS = 'perdure-lost-grants';

type AgentReserves = { readonly reservedBeside: RemainingBudget; readonly reservedByCalls: RemainingBudget };

/** Lowers the rules by what the run's agents may still take, or may have taken without a report. */
export function rulesBesideAgents(rules: Rules, { reservedBeside, reservedByCalls }: AgentReserves): Rules {
  const all = hasAny(reservedByCalls) && patched(LOST_GRANTS);
  return withoutReserved(rules, all ? sumBudgets([reservedBeside, reservedByCalls]) : reservedBeside);
}
