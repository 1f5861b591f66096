// Which calls run together (L35): neighbouring safe calls in one batch, an unsafe call alone, in the model's order.
import type { Call, ToolContextState } from '../contract/activities.ts';
import { LARGEST_BATCH } from '../contract/model-call.ts';
import { addSpend, type Spend } from '../contract/loop.ts';
import type { CallResult } from './events.ts';

export function groupCalls(calls: readonly Call[]): readonly (readonly Call[])[] {
  const planned: Call[][] = [];
  let open: Call[] | null = null;
  for (const call of calls) {
    if (call.outcome || call.ran) continue;
    if (call.safe && open && open.length < LARGEST_BATCH) open.push(call);
    else {
      planned.push([call]);
      open = call.safe ? planned[planned.length - 1]! : null;
    }
  }
  return planned;
}

/** With what calls have asked of the small model (L86). */
export function withCallsSpend(spend: Spend, results: readonly (CallResult | undefined)[]): Spend {
  return results.reduce((sum, result) => (result?.facts.spend ? addSpend(sum, result.facts.spend) : sum), spend);
}

// The changes that context modifiers leave for the calls after them, in the model's order, whatever finished first (L38).

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
