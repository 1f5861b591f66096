// The last call of a run that a limit is about to end (L51): where it is wanted, the model says what is done and what is not. It
// runs no tool and opens no turn, and what it will take is kept back within the limit.
import type { Rules, RunLimit } from '../contract/loop.ts';
import type { ModelEnded, Move } from './events.ts';
import { budgetReached, limitEnd } from './limits.ts';
import { openCalls } from './open-calls.ts';
import type { RunState } from './state.ts';

/** Another call is made only while two like the last one can be paid for: that one, and the one that sums up. */
const CALLS_KEPT = 2;
/** Of a runtime limit: a tenth, at most a minute. */
const SHARE_KEPT = 0.1;
const MOST_KEPT_MS = 60_000;

const NOT_RUN = 'Not run: the run ends here.';

type AfterTools = { readonly leftMs: number | null; readonly turns: boolean };

/** The limit that is near. Turns and time are looked at after the tools. */
export function wrapUpDue(state: RunState, rules: Rules, after?: AfterTools): RunLimit | null {
  if (!rules.wrapUp) return null;
  const budget = budgetReached(state, rules, CALLS_KEPT);
  if (budget !== null || !after) return budget;
  if (after.leftMs !== null && after.leftMs <= timeKept(rules)) return 'time';
  return after.turns ? 'turns' : null;
}

function timeKept({ timeoutMs }: Rules): number {
  return Math.min(MOST_KEPT_MS, SHARE_KEPT * (timeoutMs ?? 0));
}

/** Not a transition: the same iteration goes on, to one more call. */
export function wrappingUp(state: RunState, limit: RunLimit): RunState {
  const pending = [...state.pending, { kind: 'notice', notice: { kind: 'wrap_up', limit } } as const];
  return { ...state, wrapUp: limit, capOverride: null, pending };
}

/** Whatever came of it, the run ends as it would have without. Null: no such call, or it was stopped, or has to wait. */
export function wrappedUp(state: RunState, rules: Rules, { result, stop }: ModelEnded): Move | null {
  if (state.wrapUp === null) return null;
  const end = limitEnd(state, rules, state.wrapUp);
  switch (result.kind) {
    case 'message':
      return { ...end, append: [...openCalls(result.calls, NOT_RUN), ...end.append] };
    case 'cut_off':
      return stop ? null : { ...end, keep: result.head };
    case 'interrupted':
    case 'nothing':
    case 'parked':
      return null;
    default: {
      const text = `The call that was to sum up the run came to nothing: ${result.detail}`;
      return { ...end, append: [{ kind: 'notice', notice: { kind: 'error', text } }, ...end.append] };
    }
  }
}
