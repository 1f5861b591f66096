// Which calls run together (L35): neighbouring safe calls in one batch, an unsafe call alone, in the model's order.
import type { Call } from '../contract/activities.ts';

export function batches(calls: readonly Call[]): readonly (readonly Call[])[] {
  const planned: Call[][] = [];
  let open: Call[] | null = null;
  for (const call of calls) {
    if (call.outcome) continue;
    if (call.safe && open) open.push(call);
    else {
      planned.push([call]);
      open = call.safe ? planned[planned.length - 1]! : null;
    }
  }
  return planned;
}
