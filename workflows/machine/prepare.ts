// Prepares a model call: is there money and room, and if not, what makes room (L8, L9, L10, L12,
// L51)? In this order: shrink old results, commit staged collapses, compact, or report that nothing
// helps. With room to spare, stage collapses for later.
import type { Rules } from '../contract/loop.ts';
import { newestTokens, sumSavings, tokensWithoutStaged, tokensInUse } from './context.ts';
import type { RoomCause, Move } from './events.ts';
import { endIfBudgetSpent, isAtSessionBudget, isSpendableUsed, modelLimits, showError } from './limits.ts';
import type { RunState } from './state.ts';
import { wrapUpIfNear } from './wrap-up.ts';
import type { Append, CompactionResult } from '../contract/activities.ts';

/** Collapses are staged again when the context has grown by this share of the window. */
const STAGE_AGAIN = 0.05;
/** Old results are shrunk and nothing more is done, however little that frees. */
const NO_SUMMARY = -1;

export function prepare(state: RunState, rules: Rules): Move {
  const end = endIfBudgetSpent(state, rules);
  if (end) return end;
  if (isAtSessionBudget(state, rules)) return { do: 'wait_at_budget' };
  if (state.goal?.isDue) return { do: 'grade_goal' };
  if (state.demand) return { do: 'compact', trigger: 'manual', because: null };
  // The thinking in a prepared compaction holds only for a conversation that goes on with it at
  // once.
  const { preparing } = state;
  if (preparing?.made) return { do: 'take_prepared' };
  // The preparation's bill might use up what is left: a call meanwhile could exceed the limit by
  // more than its own cost.
  if (preparing?.keeps && isSpendableUsed(state, rules, preparing.keeps))
    return { do: 'await_compaction', because: null };
  return prepareMove(state, rules) ?? { do: 'call_model' };
}

/** Makes no room before a wrap-up: it would be paid for out of what is left. */
function prepareMove(state: RunState, rules: Rules): Move | null {
  return state.wrapUp === null ? (wrapUpIfNear(state, rules) ?? checkRoom(state, rules)) : null;
}

function checkRoom(state: RunState, rules: Rules): Move | null {
  const { window, summarizesItself } = modelLimits(state, rules);
  const used = tokensInUse(state, rules.fixedTokens);
  const newest = newestTokens(state.pending);
  if (rules.fixedTokens + newest > window) {
    return endBlocked(
      `The system prompt, the tools and the newest message are about ${rules.fixedTokens + newest} tokens; the model's window is ${window}. Shorten the message.`,
    );
  }
  const { critical, warning } = rules.compaction;
  if (used >= critical * window) {
    return state.preparing ? { do: 'await_compaction', because: null } : makeRoom(state, rules, used, window);
  }
  const over = used - warning * window;
  if (summarizesItself) {
    return over >= 0 && isPreparationDue(state, rules, window) ? { do: 'prepare_compaction' } : null;
  }
  return over >= 0 && isStagingDue(state, rules, window) ? { do: 'collapse', unlessFreed: over } : null;
}

function makeRoom(state: RunState, rules: Rules, used: number, window: number): Move | null {
  const over = used - rules.compaction.critical * window;
  const full = used >= window;
  const shrink = shrinkFirst(state, rules, over, full);
  if (shrink) return shrink;
  if (state.staged.length > 0) return { do: 'commit_collapses', count: countToCommit(state.staged, over) };
  if (mayCompact(state, rules, full)) return { do: 'compact', trigger: 'auto', because: null };
  if (!full) return null;
  const why = rules.compaction.enabled ? 'compaction could not make room' : 'compaction is off';
  return endBlocked(
    `The context is about ${used} tokens, the model's window is ${window}, and ${why}. Start a new session, or a model with a larger window.`,
  );
}

/**
 * Shrinks old results before anything else is done (L8), once an iteration. Only an activity can
 * say what that frees, so the one that would summarise is asked first: it goes on when shrinking
 * frees too little even with all that is staged.
 */
function shrinkFirst(state: RunState, rules: Rules, over: number, full: boolean): Move | null {
  const { compaction, iteration, staged } = state;
  if (compaction.shrunkIn === iteration) return null;
  const auto = { do: 'compact', trigger: 'auto', because: null } as const;
  if (mayCompact(state, rules, false)) return { ...auto, unlessFreed: over - sumSavings(staged) };
  return staged.length > 0 || full ? { ...auto, unlessFreed: NO_SUMMARY } : null;
}

/** Returns how many of the oldest collapses bring the context below by `over`. */
function countToCommit(savings: readonly number[], over: number): number {
  let saved = 0;
  const at = savings.findIndex((saving) => (saved += saving) > over);
  return at < 0 ? savings.length : at + 1;
}

/**
 * One compaction may be tried before each call; another only after a failure, when the call cannot
 * be made without it.
 */
function mayCompact({ compaction, iteration }: RunState, rules: Rules, full: boolean): boolean {
  const { enabled, maxFailures } = rules.compaction;
  if (!enabled || compaction.failures >= maxFailures) return false;
  return compaction.triedIn !== iteration || (full && compaction.failures > 0);
}

function isStagingDue(state: RunState, rules: Rules, window: number): boolean {
  return rules.compaction.enabled && rules.compaction.collapse && hasGrown(state, rules, window);
}

/** Nothing can be prepared before the first reply: the conversation has just begun. */
function isPreparationDue(state: RunState, rules: Rules, window: number): boolean {
  const isFree = !state.preparing && state.head !== null && state.contextTokens > 0;
  return rules.compaction.enabled && isFree && hasGrown(state, rules, window);
}

/** Tells whether the context has grown enough since the last try. */
function hasGrown(state: RunState, rules: Rules, window: number): boolean {
  const { stagedAt } = state.compaction;
  return stagedAt === null || tokensWithoutStaged(state, rules.fixedTokens) >= stagedAt + STAGE_AGAIN * window;
}

function endBlocked(detail: string): Move {
  return showError({ reason: 'blocking_limit', detail });
}

/**
 * Recovers from a prompt that is too long, or media that are too large: commits staged collapses,
 * compacts, then shows the error (L23–L25).
 */
export function recoverTooLong(state: RunState, rules: Rules, because: NonNullable<RoomCause>): Move {
  if (because.reason === 'prompt_too_long' && !state.drained) {
    if (state.preparing?.made) return goRoundDrained([]);
    if (state.preparing) return { do: 'await_compaction', because };
  }
  if (because.reason === 'prompt_too_long' && state.staged.length > 0 && !state.drained) {
    return goRoundDrained([{ kind: 'collapse_committed', count: state.staged.length }]);
  }
  if (rules.compaction.enabled && !state.compacted) return { do: 'compact', trigger: 'reactive', because };
  return showError(because);
}

function goRoundDrained(append: readonly Append[]): Move {
  return { do: 'go_round', transition: { reason: 'collapse_drain_retry', append } };
}

/**
 * Goes on once the preparation has ended. After a failed one, another way to make room is found.
 */
export function afterPreparation(state: RunState, rules: Rules, because: RoomCause): Move {
  return because ? recoverTooLong(state, rules, because) : prepare(state, rules);
}

/** Goes on once the compaction that was to help has ended. */
export function afterReactive(
  state: RunState,
  rules: Rules,
  result: CompactionResult,
  because: NonNullable<RoomCause>,
): Move {
  if (result.kind !== 'compacted') return showError(because);
  return (
    blockIfTooClose(state, rules) ?? { do: 'go_round', transition: { reason: 'reactive_compact_retry', append: [] } }
  );
}

/**
 * A conversation that fills its window again at once cannot be helped by one more compaction (L10).
 */
export function blockIfTooClose(state: RunState, rules: Rules): Move | null {
  if (!isTooClose(state, rules)) return null;
  return endBlocked(
    `The context was compacted ${state.compaction.close} times within a few turns and is full again. ` +
      'What the last turns bring in is too large: ask for smaller parts, or start a new session.',
  );
}

/**
 * Compactions follow each other too closely for another preparation: the next one is made when the
 * window is full, and ends the run where it follows as closely.
 */
export function isTooClose({ compaction }: RunState, rules: Rules): boolean {
  return compaction.close >= rules.compaction.maxClose;
}
