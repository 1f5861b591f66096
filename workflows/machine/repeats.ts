// Detects replies that bring nothing new: their calls only repeat recent ones, with the same
// results. The model is told, then people are, and a bound ends the run (L34).
import type { Append } from '../contract/activities.ts';
import type { Rules } from '../contract/loop.ts';
import { showError } from './limits.ts';
import type { Move, ToolsRan } from './events.ts';
import type { HasChange, Repeats, RunState } from './state.ts';

/** So many different calls are remembered: a loop may take turns between a few. */
const REMEMBERED_RESULTS = 8;
const TELL_MODEL_AT = 5;
const TELL_PEOPLE_AT = 10;
const MOST_NAMES = 5;

/**
 * Counts the reply. A call without a known result (it did not run, was stopped, or waited for
 * somebody) is something new.
 */
export function countRepeats(before: Repeats | null, { calls, results }: ToolsRan): Repeats | null {
  const pairs = calls.map(({ signature }, at) => {
    const result = results[at]?.facts.result;
    return result === undefined ? null : `${signature} ${result}`;
  });
  const known = pairs.filter((each) => each !== null);
  if (known.length === 0 || known.length < pairs.length) return null;
  if (before && known.every((each) => before.results.includes(each))) return { ...before, times: before.times + 1 };
  return { results: [...new Set([...(before?.results ?? []), ...known])].slice(-REMEMBERED_RESULTS), times: 1 };
}

/** Returns the end of a run whose replies have brought nothing new for too long, or null. */
export function endIfRepeating(state: RunState, rules: Rules, event: ToolsRan, has: HasChange): Move | null {
  const times = timesOf(state, event);
  if (times < (rules.maxSameResults ?? Infinity) || !has('perdure-same-results')) return null;
  const detail = `${times} replies in a row made only calls that gave what they had given before (${namesOf(event).join(', ')}).`;
  return showError({ reason: 'fatal_tool_error', detail });
}

/** Returns what is said of replies that bring nothing new. */
export function tellRepeats(state: RunState, rules: Rules, event: ToolsRan, has: HasChange): readonly Append[] {
  const times = timesOf(state, event);
  const isDue = times === TELL_MODEL_AT || times === TELL_PEOPLE_AT;
  if (!isDue || rules.maxSameResults === undefined || !has('perdure-same-results')) return [];
  const notice = { kind: 'same_results', calls: namesOf(event), times } as const;
  return [{ kind: 'notice', notice: times === TELL_PEOPLE_AT ? { ...notice, forPeople: true } : notice }];
}

/** A message that waits is something new. */
function timesOf({ repeats }: RunState, { queued }: ToolsRan): number {
  return queued.length > 0 ? 0 : (repeats?.times ?? 0);
}

function namesOf({ calls }: ToolsRan): readonly string[] {
  return [...new Set(calls.map(({ name }) => name))].slice(0, MOST_NAMES);
}
