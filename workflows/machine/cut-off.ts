// Recovers from a reply cut at the output limit: raises the cap once, then continues the reply up
// to three times, then reports it (L26–L28).
import type { BatchSummary, ModelResult } from '../contract/activities.ts';
import type { Rules } from '../contract/loop.ts';
import { summaryAppend } from './absorb.ts';
import type { CutReply, ModelEnded, Move, Transition } from './events.ts';
import { endIfBudgetSpent, isAtSessionBudget, modelLimits, showError } from './limits.ts';
import { outputCapOf } from './step-inputs.ts';
import { tokensInUse } from './context.ts';
import type { HasChange, RunState } from './state.ts';

type End = Extract<Move, { do: 'end' }>;

type Cut = Extract<ModelResult, { kind: 'cut_off' }>;

export function recoverCutReply(
  state: RunState,
  rules: Rules,
  { result, step, summary }: ModelEnded & { readonly result: Cut },
  has: HasChange,
): Move {
  const end = endIfBudgetSpent(state, rules);
  if (end) return endOnCutReply(end, result, summary);
  const append = summaryAppend(summary);
  // A reply that is to be replaced cannot wait: at the session's budget it is continued (G69).
  const cap = isAtSessionBudget(state, rules) ? null : findRaisedCap(state, rules, result, has);
  if (cap !== null) {
    const replaces = toCutReply(result);
    const transition = { reason: 'max_output_tokens_escalate', cap, supersedes: step, replaces, append } as const;
    return { do: 'go_round', transition };
  }
  return continueReply(state, rules, { keep: toCutReply(result), append });
}

/** `append` follows the cut reply. `refused`: see the transition. */
type Recovery = Omit<Extract<Transition, { reason: 'max_output_tokens_recovery' }>, 'reason'>;

function continueReply(state: RunState, rules: Rules, recovery: Recovery): Move {
  if (state.recoveries < rules.maxOutputRecoveries)
    return { do: 'go_round', transition: { reason: 'max_output_tokens_recovery', ...recovery } };
  const { keep, append } = recovery;
  const detail =
    `The reply was cut by max_tokens, and again after ${rules.maxOutputRecoveries} continuations. ` +
    'Ask for a shorter answer, or for its parts one at a time.';
  const end = showError({ reason: 'max_output_tokens', detail });
  return { ...end, append: [...append, ...end.append], keep };
}

/**
 * Returns null when the request was not refused for its cap. One that differs from an accepted
 * request only in a raised cap was refused for that, whatever the error says; the cut reply is kept
 * then (L27). The default cap is lowered when the API says how far.
 */
export function recoverRefusedCap(state: RunState, rules: Rules, result: ModelResult): Move | null {
  const refused = result.kind === 'too_long' || (result.kind === 'failed' && isRefusal(result.status));
  if (!refused || state.wrapUp !== null) return null;
  const most = result.kind === 'failed' ? result.maxOutput : undefined;
  const { replaced, pending } = state;
  if (replaced) {
    const { pending: stored, ...keep } = replaced;
    const append = pending.slice(stored);
    return continueReply(state, rules, { keep, append, refused: most ?? modelLimits(state, rules).outputCap });
  }
  if (result.kind === 'too_long') return lowerCapToRoom(state, rules, result.window);
  if (most === undefined || rules.outputCapFixed || most >= outputCapOf(state, rules)) return null;
  return { do: 'lower_cap', maxOutput: most };
}

/** Tokens. When less is left after the prompt, it is the prompt that is too long. */
const LEAST_ROOM = 1_024;

/**
 * A window that turns out small may have no room for the answer alone. The cap becomes half of what
 * is left, because the prompt's size is an estimate.
 */
function lowerCapToRoom(state: RunState, rules: Rules, window: number | undefined): Move | null {
  if (window === undefined || modelLimits(state, rules).leastOutputCap === undefined) return null;
  const room = window - tokensInUse(state, rules.fixedTokens);
  const maxOutput = Math.floor(room / 2);
  const cap = outputCapOf({ ...state, window: null }, rules);
  return room >= LEAST_ROOM && cap > maxOutput ? { do: 'lower_cap', maxOutput } : null;
}

function isRefusal(status: number | undefined): boolean {
  return status === 400 || status === 422;
}

/** Ends the run on the cut reply, followed by a summary that was made meanwhile. */
export function endOnCutReply(end: End, result: Cut, summary: BatchSummary | undefined): End {
  return { ...end, append: [...summaryAppend(summary), ...end.append], keep: toCutReply(result) };
}

function toCutReply({ head, contextTokens }: Cut): CutReply {
  return { head, contextTokens };
}

/**
 * Returns null when a raise gains nothing, or the caller has chosen the cap. The cut reply is not
 * in the request that replaces it, so its tokens are room. Sessions of earlier releases counted
 * them.
 */
function findRaisedCap(
  state: RunState,
  rules: Rules,
  { contextTokens, output = 0 }: Cut,
  has: HasChange,
): number | null {
  if (rules.outputCapFixed || state.capOverride !== null) return null;
  const { window, outputCap, raisedOutputCap } = modelLimits(state, rules);
  const most = Math.min(raisedOutputCap, state.maxOutput ?? Infinity);
  const room = window - contextTokens;
  const isRoomier = room < most && output > 0 && has('perdure-cut-room');
  const cap = Math.min(most, isRoomier ? room + output : room);
  return cap > outputCap ? cap : null;
}
