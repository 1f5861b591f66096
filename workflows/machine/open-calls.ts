// The outcomes of calls that will not run (L39).
import type { Append, Call } from '../contract/activities.ts';

export function openCalls(calls: readonly Call[], note: string): readonly Append[] {
  const items = calls.filter((call) => !call.outcome).map((call) => ({ index: call.index, note }));
  return items.length > 0 ? [{ kind: 'outcomes', items }] : [];
}
