// Applies transitions, and resets what each of them resets. Every further iteration of a run comes
// from `apply`.
import type { Append } from '../contract/activities.ts';
import type { TransitionReason } from '../contract/loop.ts';
import type { SystemMessage, UserMessage } from '../contract/session.ts';
import type { CutReply, Transition } from './events.ts';
import { bringGoal } from './goals.ts';
import { KEPT_TRANSITIONS, type HasChange, type RunState } from './state.ts';
import { present } from '../contract/present.ts';

export function apply(state: RunState, transition: Transition, has: HasChange = () => true): RunState {
  const { reason } = transition;
  const iteration = state.iteration + 1;
  const changed = applyChange({ ...state, replaced: null }, transition, has);
  return {
    ...changed,
    iteration,
    pending: [...changed.pending, { kind: 'transition', iteration, reason }],
    transitions: [...state.transitions, { iteration, reason }].slice(-KEPT_TRANSITIONS),
    counts: { ...state.counts, [reason]: (state.counts[reason] ?? 0) + 1 },
  };
}

/** The recovery count, the flags of what happens once, and the raised cap. */
const RESETS = {
  recoveries: 0,
  drained: false,
  compacted: false,
  textCallRetried: false,
  capOverride: null,
} as const;

function applyChange(state: RunState, transition: Transition, has: HasChange): RunState {
  switch (transition.reason) {
    case 'next_turn': {
      const { append = [], messages, snips, summarize } = transition;
      const pending = [...state.pending, ...append, ...snipAppend(snips), ...messages.flatMap(userAppends)];
      const pendingSummary = (summarize ? summaryToMake(state) : null) ?? state.pendingSummary;
      const reset = messages.length > 0 ? { repeats: null } : {};
      return { ...state, ...RESETS, ...reset, ...bringGoal(messages), turn: state.turn + 1, pending, pendingSummary };
    }
    case 'max_output_tokens_escalate':
      return {
        ...state,
        capOverride: transition.cap,
        supersedes: transition.supersedes,
        replaced: { ...transition.replaces, pending: state.pending.length },
        pending: [...state.pending, ...transition.append],
      };
    case 'max_output_tokens_recovery':
      return {
        ...keepCut(state, transition.keep),
        pending: [...transition.append, { kind: 'notice', notice: { kind: 'continue' } }],
        recoveries: state.recoveries + 1,
        ...lowerRefusedCap(transition.refused),
      };
    default:
      return {
        ...state,
        ...resetsOf(state, transition.reason, has),
        pending: [...state.pending, ...transition.append],
      };
  }
}

function lowerRefusedCap(maxOutput: number | undefined): Partial<RunState> {
  return maxOutput === undefined ? {} : { capOverride: null, maxOutput, retells: true };
}

function resetsOf(
  state: RunState,
  reason: Exclude<TransitionReason, 'next_turn' | 'max_output_tokens_escalate' | 'max_output_tokens_recovery'>,
  has: HasChange,
): Partial<RunState> {
  switch (reason) {
    case 'collapse_drain_retry':
      return { ...commitOldest(state, state.staged.length), drained: true };
    case 'reactive_compact_retry':
      return { compacted: true };
    case 'stop_hook_blocking':
      // The reactive flag is kept: otherwise compaction and hook could loop for ever.
      return { stopHookActive: true, stopHookRounds: state.stopHookRounds + 1, recoveries: 0 };
    case 'goal_revision':
      return { recoveries: 0 };
    case 'token_budget_continuation':
      return { recoveries: 0, drained: false, compacted: false, tokenBudget: continueBudget(state) };
    case 'model_fallback':
      return { modelPosition: state.modelPosition + 1, maxOutput: null, ...(state.window && { window: null }) };
    case 'call_as_text_retry':
      return { textCallRetried: true };
    case 'structured_output_retry':
      return {
        structuredRetries: state.structuredRetries + 1,
        // The next answer is another one, and may be cut itself.
        ...(state.recoveries > 0 && has('perdure-answer-recoveries') && { recoveries: 0 }),
      };
  }
}

/** The pending entries are stored with the cut reply, and counted. */
export function keepCut(state: RunState, { head, contextTokens }: CutReply): RunState {
  return { ...state, head, pending: [], contextTokens, newerTokens: 0 };
}

/**
 * Commits the oldest collapses. Unlike with a transition, the same iteration goes on, with less in
 * view (L9).
 */
export function commitCollapses(state: RunState, count: number): RunState {
  const pending: readonly Append[] = [...state.pending, { kind: 'collapse_committed', count }];
  return { ...state, ...commitOldest(state, count), pending };
}

function commitOldest({ staged, contextTokens }: RunState, count: number): Pick<RunState, 'staged' | 'contextTokens'> {
  const saved = staged.slice(0, count).reduce((sum, saving) => sum + saving, 0);
  return { staged: staged.slice(count), contextTokens: Math.max(0, contextTokens - saved) };
}

function continueBudget({ tokenBudget, spend }: RunState): RunState['tokenBudget'] {
  const total = spend.usage.output;
  const lastDelta = total - tokenBudget.lastTotal;
  return { continuations: tokenBudget.continuations + 1, lastDelta, lastTotal: total };
}

function summaryToMake({ head, pending, iteration }: RunState): RunState['pendingSummary'] {
  return head && { head, append: pending.filter(({ kind }) => kind === 'outcomes'), iteration };
}

export function snipAppend(entries: readonly number[]): readonly Append[] {
  return entries.length > 0 ? [{ kind: 'snip', entries }] : [];
}

export function userAppends(message: UserMessage): readonly Append[] {
  const { id, body, by, querySource, goal, ended: news, system } = message;
  if (news) return [{ kind: 'agent_ended', ended: news }];
  const user = { kind: 'user', id, body, ...present({ by, goal }), ...(querySource && { querySource }) } as const;
  return system ? [user, systemAppend(system)] : [user];
}

export const systemAppend = ({ id, text }: SystemMessage): Append => ({
  kind: 'notice',
  notice: { kind: 'system_message', id, text },
});
