// What the calls of a reply leave to those after them, and to the run: what they spent, and what
// they changed.
import type { ToolContextState } from '../contract/activities.ts';
import { addSpend, type Spend } from '../contract/loop.ts';
import type { CallResult } from './events.ts';

/** With what calls have asked of the small model (L86). */
export function withCallsSpend(spend: Spend, results: readonly (CallResult | undefined)[]): Spend {
  return results.reduce((sum, result) => (result?.facts.spend ? addSpend(sum, result.facts.spend) : sum), spend);
}

// The changes that context modifiers leave for the calls after them, in the model's order, whatever
// finished first (L38).

/** `results` in the model's order; undefined for a call that has none yet. */
export function contextAfter(
  before: ToolContextState | null,
  results: readonly (CallResult | undefined)[],
): ToolContextState | null {
  return results.reduce<ToolContextState | null>((context, result) => {
    const modify = result?.facts.modify;
    return modify ? { ...context, ...modify } : context;
  }, before);
}
