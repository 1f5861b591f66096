// A reply cut by max output tokens: raise the cap once, then continue it three times, then say so (L26–L28).
import type { BatchSummary, ModelResult } from '../contract/activities.ts';
import type { Rules } from '../contract/loop.ts';
import { summaryAppend } from './absorb.ts';
import type { CutReply, ModelEnded, Move } from './events.ts';
import { budgetGone, modelLimits } from './limits.ts';
import { showError } from './show-error.ts';
import type { RunState } from './state.ts';

type End = Extract<Move, { do: 'end' }>;

type Cut = Extract<ModelResult, { kind: 'cut_off' }>;

export function cutOff(state: RunState, rules: Rules, result: Cut, { step, summary }: ModelEnded): Move {
  const gone = budgetGone(state, rules);
  if (gone) return endOn(gone, result, summary);
  const append = summaryAppend(summary);
  const cap = raisedCap(state, rules, result);
  if (cap !== null) {
    return { do: 'go_round', transition: { reason: 'max_output_tokens_escalate', cap, supersedes: step, append } };
  }
  if (state.recoveries < rules.maxOutputRecoveries) {
    return { do: 'go_round', transition: { reason: 'max_output_tokens_recovery', keep: cutReply(result), append } };
  }
  const detail =
    `The reply was cut by max_tokens, and again after ${rules.maxOutputRecoveries} continuations. ` +
    'Ask for a shorter answer, or for its parts one at a time.';
  return endOn(showError({ reason: 'max_output_tokens', detail }), result, summary);
}

/** The run ends on the cut reply; a summary that was made beside it follows it. */
export function endOn(end: End, result: Cut, summary: BatchSummary | undefined): End {
  return { ...end, append: [...summaryAppend(summary), ...end.append], keep: cutReply(result) };
}

function cutReply({ head, contextTokens }: Cut): CutReply {
  return { head, contextTokens };
}

/** Null when there is nothing to gain, or the cap is not ours to change. */
function raisedCap(state: RunState, rules: Rules, { contextTokens }: Cut): number | null {
  if (rules.outputCapFixed || state.capOverride !== null) return null;
  const { window, outputCap, raisedOutputCap } = modelLimits(state, rules);
  const cap = Math.min(raisedOutputCap, window - contextTokens);
  return cap > outputCap ? cap : null;
}
