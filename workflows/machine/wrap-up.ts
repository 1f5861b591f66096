// The last call of a run that a limit is about to end (L51): where it is wanted, the model says
// what is done and what is not. Nothing of it runs, it opens no turn, and what it will take is kept
// back within the limit.
import type { Append } from '../contract/activities.ts';
import { addSpend, costOf, noUsage, type Rules, type RunLimit, type Spend, totalTokens } from '../contract/loop.ts';
import { usedTokens } from './context.ts';
import { endOn } from './cut-off.ts';
import type { ModelEnded, Move } from './events.ts';
import { budgetReached, limitEnd, modelLimits } from './limits.ts';
import { openCalls, errorNotice } from './ends.ts';
import type { RunState } from './state.ts';

/** Tokens that a reply is taken to have: what the last ones had says nothing of the next. */
const REPLY_TOKENS = 1_000;
/** The same of a summary that the API makes of a conversation: a share of the window. */
const MOST_SUMMARY = 32_000;
const SUMMARY_SHARE = 0.1;
/** The share of a runtime limit that is kept: a tenth, at most a minute. */
const SHARE_KEPT = 0.1;
const MOST_KEPT_MS = 60_000;

const NOT_RUN = 'Not run: the run ends here.';

type AfterTools = { readonly leftMs: number | null; readonly turns: boolean };

/**
 * The move that asks for it, when a limit is near. Turns and time are looked at after the tools.
 */
export function wrapUpDue(state: RunState, rules: Rules, after?: AfterTools): Move | null {
  const limit = limitNear(state, rules, after);
  return limit && { do: 'wrap_up', limit };
}

/** Null also where the call would not fit the window. */
function limitNear(state: RunState, rules: Rules, after?: AfterTools): RunLimit | null {
  if (!rules.wrapUp || usedTokens(state, rules.fixedTokens) >= modelLimits(state, rules).window) return null;
  const budget = hasReplied(state) ? budgetReached(state, rules, kept(state, rules)) : null;
  if (budget !== null || !after) return budget;
  if (after.leftMs !== null && after.leftMs <= timeKept(rules)) return 'time';
  return after.turns ? 'turns' : null;
}

/** Before the first reply there is nothing to sum up. */
function hasReplied({ spend }: RunState): boolean {
  return totalTokens(spend.usage) > 0;
}

/** Another call is made only while two can be paid for: that one, and the one that sums up. */
function kept(state: RunState, rules: Rules): Spend {
  const call = callSpend(state, rules, REPLY_TOKENS);
  return addSpend(call, call);
}

/** What the last call had in view is cached. */
function callSpend(state: RunState, rules: Rules, output: number): Spend {
  const { price } = modelLimits(state, rules);
  const cacheRead = state.contextTokens;
  const cacheWrite = usedTokens(state, rules.fixedTokens) - cacheRead;
  const usage = { ...noUsage, cacheRead, cacheWrite, output };
  return { usage, usd: price && costOf(usage, price) };
}

/**
 * About as much as a compaction that is prepared beside the run may be billed (L9, L51). Null: the
 * limits would not pay for two calls beside it.
 */
export function preparationSpend(state: RunState, rules: Rules): Spend | null {
  const { window } = modelLimits(state, rules);
  const spend = callSpend(state, rules, Math.min(MOST_SUMMARY, SUMMARY_SHARE * window));
  return budgetReached(state, rules, addSpend(spend, kept(state, rules))) === null ? spend : null;
}

function timeKept({ timeoutMs }: Rules): number {
  return Math.min(MOST_KEPT_MS, SHARE_KEPT * (timeoutMs ?? 0));
}

/**
 * Not a transition: the same iteration goes on, to one more call. A cut reply is summed up instead
 * of continued.
 */
export function beginWrapUp(state: RunState, rules: Rules, limit: RunLimit): RunState {
  const { append } = limitEnd(state, rules, limit);
  const asked: readonly Append[] = [...append, { kind: 'notice', notice: { kind: 'wrap_up', limit } }];
  return {
    ...state,
    wrapUp: limit,
    capOverride: null,
    pending: [...state.pending.filter((each) => !isNotice(each, 'continue')), ...asked],
  };
}

/**
 * Whatever came of it, the run ends as it would have without. Null: no such call, or it was
 * stopped, or has to wait.
 */
export function endWrapUp(state: RunState, rules: Rules, { result, stop, summary }: ModelEnded): Move | null {
  if (state.wrapUp === null) return null;
  const end = { ...limitEnd(state, rules, state.wrapUp), append: [] };
  switch (result.kind) {
    case 'message':
      return { ...end, append: openCalls(result.calls, NOT_RUN) };
    case 'cut_off':
      return stop ? null : endOn(end, result, summary);
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

/** A request to sum up that no reply has answered is not left standing for the next run. */
export function withoutRequest(pending: readonly Append[]): readonly Append[] {
  return pending.filter((each) => !isNotice(each, 'wrap_up'));
}

function isNotice(append: Append, kind: 'continue' | 'wrap_up'): boolean {
  return append.kind === 'notice' && append.notice.kind === kind;
}
