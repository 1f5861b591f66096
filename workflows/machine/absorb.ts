// What an event leaves in the state before anything is decided: the new head, what was spent, who keeps failing.
import type { ModelResult } from '../contract/activities.ts';
import { addSpend } from '../contract/loop.ts';
import type { Event, ToolsRan } from './events.ts';
import type { RunState } from './state.ts';

export function absorb(state: RunState, event: Event): RunState {
  switch (event.kind) {
    case 'ready':
    case 'stopped':
      return state;
    case 'model':
      return absorbModel(state, event.result);
    case 'tools_ran':
      return absorbTools(state, event);
  }
}

function absorbModel(state: RunState, result: ModelResult): RunState {
  const spent = { ...state, spend: addSpend(state.spend, result.spend), supersedes: null, failures: 0 };
  switch (result.kind) {
    case 'message':
    case 'interrupted':
      return { ...spent, head: result.head, pending: [], contextTokens: result.contextTokens };
    case 'cut_off':
      // Head and pending stay: whether the cut reply is kept (L27) or replaced (L26) is not decided yet.
      return { ...spent, contextTokens: result.contextTokens };
    case 'parked':
      return { ...spent, supersedes: state.supersedes, failures: result.failures };
    case 'nothing':
    case 'too_long':
    case 'media_too_large':
    case 'refused':
    case 'failed':
      return spent;
  }
}

function absorbTools(state: RunState, event: ToolsRan): RunState {
  const items = event.results.flatMap((result) => (result.item ? [result.item] : []));
  return {
    ...state,
    failing: countFailures(state.failing, event),
    pending: [
      ...state.pending,
      ...(items.length > 0 ? ([{ kind: 'outcomes', items }] as const) : []),
      ...(event.cut ? ([{ kind: 'notice', notice: { kind: 'call_cut' } }] as const) : []),
    ],
  };
}

/**
 * The same tool with the same input failing in a row; anything else that ran in between starts the count anew (L34). What never
 * ran (a noted outcome without a key) did not fail.
 */
function countFailures(failing: RunState['failing'], { calls, results }: ToolsRan): RunState['failing'] {
  let count = failing;
  calls.forEach((call, at) => {
    const result = results[at];
    if (result?.item && result.item.key === undefined) return;
    if (!result?.facts.error) count = null;
    else if (count?.signature === call.signature) count = { ...count, times: count.times + 1 };
    else count = { signature: call.signature, times: 1 };
  });
  return count;
}
