// The last call of a run that a limit is about to end (L51): if requested, the model says what is
// done and what is not. Its calls do not run, it opens no turn, and its cost is reserved within the
// limit.
import type { Append } from '../contract/activities.ts';
import { addSpend, costOf, noUsage, type Rules, type RunLimit, type Spend, totalTokens } from '../contract/loop.ts';
import { tokensInUse } from './context.ts';
import { endOnCutReply } from './cut-off.ts';
import type { ModelEnded, Move } from './events.ts';
import { endAtLimit, errorNotice, findSpentBudget, isSpendableUsed, modelLimits, notRunOutcomes } from './limits.ts';
import type { RunState } from './state.ts';

/** Tokens that a reply is assumed to have: the size of the last one says nothing of the next. */
const REPLY_TOKENS = 1_000;
/** Tokens that a summary by the API is assumed to have at most, and its share of the window. */
const MOST_SUMMARY = 32_000;
const SUMMARY_SHARE = 0.1;
/** The share of a runtime limit that is kept back: a tenth, at most a minute. */
const SHARE_KEPT = 0.1;
const MOST_KEPT_MS = 60_000;

const NOT_RUN = 'Not run: the run ends here.';

type AfterTools = { readonly leftMs: number | null; readonly turns: boolean };

/**
 * Returns the move that asks for the wrap-up when a limit is near. Turns and time are checked after
 * the tools.
 */
export function wrapUpIfNear(state: RunState, rules: Rules, after?: AfterTools): Move | null {
  const limit = findNearLimit(state, rules, after);
  return limit && { do: 'wrap_up', limit };
}

/** Returns null also where the call would not fit the window. */
function findNearLimit(state: RunState, rules: Rules, after?: AfterTools): RunLimit | null {
  if (!rules.wrapUp || tokensInUse(state, rules.fixedTokens) >= modelLimits(state, rules).window) return null;
  const budget = hasReplied(state) ? findSpentBudget(state, rules, spendKeptBack(state, rules)) : null;
  if (budget !== null || !after) return budget;
  if (after.leftMs !== null && after.leftMs <= timeKeptBack(rules)) return 'time';
  return after.turns ? 'turns' : null;
}

/** Before the first reply there is nothing to sum up. */
function hasReplied({ spend }: RunState): boolean {
  return totalTokens(spend.usage) > 0;
}

/** Another call is made only while two can be paid for: that one, and the wrap-up. */
function spendKeptBack(state: RunState, rules: Rules): Spend {
  const call = callSpend(state, rules, REPLY_TOKENS);
  return addSpend(call, call);
}

/** Estimates the cost of a call: what the last call had in view is cached. */
function callSpend(state: RunState, rules: Rules, output: number): Spend {
  const { price } = modelLimits(state, rules);
  const cacheRead = state.contextTokens;
  const cacheWrite = tokensInUse(state, rules.fixedTokens) - cacheRead;
  const usage = { ...noUsage, cacheRead, cacheWrite, output };
  return { usage, usd: price && costOf(usage, price) };
}

/**
 * Estimates the most that a prepared compaction may be billed (L9, L51). Returns null when the
 * limits would not pay for two calls as well.
 */
export function preparationSpend(state: RunState, rules: Rules): Spend | null {
  const { window } = modelLimits(state, rules);
  const spend = callSpend(state, rules, Math.min(MOST_SUMMARY, SUMMARY_SHARE * window));
  return isSpendableUsed(state, rules, addSpend(spend, spendKeptBack(state, rules))) ? null : spend;
}

function timeKeptBack({ timeoutMs }: Rules): number {
  return Math.min(MOST_KEPT_MS, SHARE_KEPT * (timeoutMs ?? 0));
}

/**
 * Asks for the wrap-up. Unlike with a transition, the same iteration goes on, to one more call. A
 * cut reply is summed up instead of continued.
 */
export function beginWrapUp(state: RunState, rules: Rules, limit: RunLimit): RunState {
  const { append } = endAtLimit(state, rules, limit);
  const added: readonly Append[] = [...append, { kind: 'notice', notice: { kind: 'wrap_up', limit } }];
  return {
    ...state,
    wrapUp: limit,
    capOverride: null,
    pending: [...state.pending.filter((each) => !isNotice(each, 'continue')), ...added],
  };
}

/**
 * Ends the run after the wrap-up as the limit alone would have ended it, whatever the wrap-up came
 * to. Returns null when the call was none, was stopped, or has to wait.
 */
export function endWrapUp(state: RunState, rules: Rules, { result, stop, summary }: ModelEnded): Move | null {
  if (state.wrapUp === null) return null;
  const end = { ...endAtLimit(state, rules, state.wrapUp), append: [] };
  switch (result.kind) {
    case 'message':
      return { ...end, append: notRunOutcomes(result.calls, NOT_RUN) };
    case 'cut_off':
      return stop ? null : endOnCutReply(end, result, summary);
    case 'interrupted':
    case 'nothing':
    case 'parked':
      return null;
    default: {
      const text = `The call that was to sum up the run came to nothing: ${result.detail}`;
      return { ...end, append: [errorNotice(text)] };
    }
  }
}

/** Drops a request to sum up that no reply has answered, so that it does not reach the next run. */
export function withoutWrapUpRequest(pending: readonly Append[]): readonly Append[] {
  return pending.filter((each) => !isNotice(each, 'wrap_up'));
}

function isNotice(append: Append, kind: 'continue' | 'wrap_up'): boolean {
  return append.kind === 'notice' && append.notice.kind === kind;
}
