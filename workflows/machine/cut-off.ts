// A reply cut by max output tokens: raise the cap once, then continue it three times, then say so
// (L26–L28).
import type { Append, BatchSummary, ModelResult } from '../contract/activities.ts';
import type { Rules } from '../contract/loop.ts';
import { summaryAppend } from './absorb.ts';
import type { CutReply, ModelEnded, Move } from './events.ts';
import { budgetGone, modelLimits } from './limits.ts';
import { capOf, usedTokens } from './context.ts';
import { showError } from './ends.ts';
import type { RunState } from './state.ts';

type End = Extract<Move, { do: 'end' }>;

type Cut = Extract<ModelResult, { kind: 'cut_off' }>;

export function cutOff(state: RunState, rules: Rules, result: Cut, { step, summary }: ModelEnded): Move {
  const gone = budgetGone(state, rules);
  if (gone) return endOn(gone, result, summary);
  const append = summaryAppend(summary);
  const cap = raisedCap(state, rules, result);
  if (cap !== null) {
    const replaces = cutReply(result);
    const transition = { reason: 'max_output_tokens_escalate', cap, supersedes: step, replaces, append } as const;
    return { do: 'go_round', transition };
  }
  return goOn(state, rules, cutReply(result), append);
}

/** `append` follows the cut reply. `refused`: see the transition. */
function goOn(state: RunState, rules: Rules, keep: CutReply, append: readonly Append[], refused?: number): Move {
  if (state.recoveries < rules.maxOutputRecoveries) {
    const why = refused === undefined ? {} : { refused };
    return { do: 'go_round', transition: { reason: 'max_output_tokens_recovery', keep, append, ...why } };
  }
  const detail =
    `The reply was cut by max_tokens, and again after ${rules.maxOutputRecoveries} continuations. ` +
    'Ask for a shorter answer, or for its parts one at a time.';
  const end = showError({ reason: 'max_output_tokens', detail });
  return { ...end, append: [...append, ...end.append], keep };
}

/**
 * Null: it was not refused for its cap. A request that differs from an accepted one in nothing but
 * a raised cap was refused for that, whatever the words; the cut reply is kept then (L27). The
 * default is lowered when the API says how far.
 */
export function recoverRefusedCap(state: RunState, rules: Rules, result: ModelResult): Move | null {
  const refused = result.kind === 'too_long' || (result.kind === 'failed' && isRefusal(result.status));
  if (!refused || state.wrapUp !== null) return null;
  const most = result.kind === 'failed' ? result.maxOutput : undefined;
  const { replaced, pending } = state;
  if (replaced) {
    const { pending: stored, ...keep } = replaced;
    return goOn(state, rules, keep, pending.slice(stored), most ?? modelLimits(state, rules).outputCap);
  }
  if (result.kind === 'too_long') return roomAsked(state, rules, result.window);
  if (most === undefined || rules.outputCapFixed || most >= capOf(state, rules)) return null;
  return { do: 'lower_cap', maxOutput: most };
}

/** Tokens: where less is left beside the prompt, it is the prompt that is too long. */
const LEAST_ROOM = 1_024;

/**
 * A window that turns out small may have no room for the answer alone: half of what is left is
 * asked for, as the prompt is an estimate.
 */
function roomAsked(state: RunState, rules: Rules, window: number | undefined): Move | null {
  if (window === undefined || modelLimits(state, rules).leastOutputCap === undefined) return null;
  const room = window - usedTokens(state, rules.fixedTokens);
  const maxOutput = Math.floor(room / 2);
  const asked = capOf({ ...state, window: null }, rules);
  return room >= LEAST_ROOM && asked > maxOutput ? { do: 'lower_cap', maxOutput } : null;
}

function isRefusal(status: number | undefined): boolean {
  return status === 400 || status === 422;
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
  const cap = Math.min(raisedOutputCap, window - contextTokens, state.maxOutput ?? Infinity);
  return cap > outputCap ? cap : null;
}
