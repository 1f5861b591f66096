// Applies what a reply's calls change for later calls and for the run, and what they cost.
import type { ToolContextState } from '../contract/activities.ts';
import { addSpend, type Spend } from '../contract/loop.ts';
import type { CallResult } from './events.ts';

/** Adds what calls have spent on the small model (L86). */
export function withCallsSpend(spend: Spend, results: readonly (CallResult | undefined)[]): Spend {
  return results.reduce((sum, result) => (result?.facts.spend ? addSpend(sum, result.facts.spend) : sum), spend);
}

/** Adds the rules that a person gave the run; the context is as before where there are none. */
export function withGranted(
  context: ToolContextState | null,
  granted: readonly string[] | undefined,
): ToolContextState | null {
  return granted === undefined ? context : { ...context, granted };
}

/**
 * Applies the changes of context modifiers in the model's order, in whichever order the calls
 * finished (L38). A result is undefined while its call has none.
 */
export function toolContextAfter(
  before: ToolContextState | null,
  results: readonly (CallResult | undefined)[],
): ToolContextState | null {
  return results.reduce<ToolContextState | null>((context, result) => {
    const modify = result?.facts.modify;
    return modify ? { ...context, ...modify } : context;
  }, before);
}
