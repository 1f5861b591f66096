// A reply cut by max output tokens: raise the cap once, then continue it three times, then say so (L26–L28).
import type { ModelResult } from '../contract/activities.ts';
import type { Rules } from '../contract/loop.ts';
import type { Move } from './events.ts';
import { modelLimits } from './limits.ts';
import { showError } from './show-error.ts';
import type { RunState } from './state.ts';

/** Raised caps never go above this, whatever the model allows. */
export const RAISED_OUTPUT_CAP = 64_000;

export function cutOff(
  state: RunState,
  rules: Rules,
  result: Extract<ModelResult, { kind: 'cut_off' }>,
  step: number,
): Move {
  const cap = raisedCap(state, rules);
  if (cap !== null) {
    return { do: 'go_round', transition: { reason: 'max_output_tokens_escalate', cap, supersedes: step } };
  }
  if (state.recoveries < rules.maxOutputRecoveries) {
    return { do: 'go_round', transition: { reason: 'max_output_tokens_recovery', head: result.head } };
  }
  const detail =
    `The reply was cut by max_tokens ${rules.maxOutputRecoveries + 1} times in a row. ` +
    'Ask for a shorter answer, or for its parts one at a time.';
  return { ...showError({ reason: 'max_output_tokens', detail }), keep: result.head };
}

/** Null when there is nothing to gain, or the cap is not ours to change. */
function raisedCap(state: RunState, rules: Rules): number | null {
  if (rules.outputCapFixed || state.capOverride !== null) return null;
  const { window, outputCap, raisedOutputCap } = modelLimits(state, rules);
  const cap = Math.min(RAISED_OUTPUT_CAP, raisedOutputCap, window - state.contextTokens);
  return cap > outputCap ? cap : null;
}
