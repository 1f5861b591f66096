// What context modifiers leave for the calls after them, in the model's order, whatever finished first (L38).
import type { ToolContextState } from '../contract/activities.ts';
import type { CallResult } from './events.ts';

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
