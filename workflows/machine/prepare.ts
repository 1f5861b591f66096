// Before the model is called: is there money, room, and if not, what makes room (L8, L9, L10, L12,
// L51). In this order: shrink old results, commit what is staged, compact, or say that nothing
// helps; below that, stage for later.
import type { Rules } from '../contract/loop.ts';
import { newestTokens, total, unstagedTokens, usedTokens } from './context.ts';
import type { Because, Move } from './events.ts';
import { budgetGone, budgetReached, modelLimits } from './limits.ts';
import { showError } from './ends.ts';
import type { RunState } from './state.ts';
import { wrapUpDue } from './wrap-up.ts';
import type { Append, Compacted } from '../contract/activities.ts';

/** Collapses are staged again when the context has grown by this share of the window. */
const STAGE_AGAIN = 0.05;
/** Whatever is freed, old results are shrunk and nothing more. */
const NO_SUMMARY = -1;

export function prepare(state: RunState, rules: Rules): Move {
  const gone = budgetGone(state, rules);
  if (gone) return gone;
  if (state.demand) return { do: 'compact', trigger: 'manual', because: null };
  // What is thought meanwhile holds only for a conversation that goes on with it at once.
  const { preparing } = state;
  if (preparing?.made) return { do: 'take_prepared' };
  // Its bill might be what is left: a call beside it could go over the limit by more than itself.
  if (preparing?.keeps && budgetReached(state, rules, preparing.keeps))
    return { do: 'await_compaction', because: null };
  return first(state, rules) ?? { do: 'call_model' };
}

/** Before a wrap-up nothing is made room for: it would be paid for out of what is left. */
function first(state: RunState, rules: Rules): Move | null {
  return state.wrapUp === null ? (wrapUpDue(state, rules) ?? room(state, rules)) : null;
}

function room(state: RunState, rules: Rules): Move | null {
  const { window, summarizesItself } = modelLimits(state, rules);
  const used = usedTokens(state, rules.fixedTokens);
  const newest = newestTokens(state.pending);
  if (rules.fixedTokens + newest > window) {
    return blocked(
      `The system prompt, the tools and the newest message are about ${rules.fixedTokens + newest} tokens; the model's window is ${window}. Shorten the message.`,
    );
  }
  const { critical, warning } = rules.compaction;
  if (used >= critical * window) {
    return state.preparing ? { do: 'await_compaction', because: null } : makeRoom(state, rules, used, window);
  }
  const over = used - warning * window;
  if (summarizesItself) {
    return over >= 0 && preparationDue(state, rules, window) ? { do: 'prepare_compaction' } : null;
  }
  return over >= 0 && stagingDue(state, rules, window) ? { do: 'collapse', unlessFreed: over } : null;
}

function makeRoom(state: RunState, rules: Rules, used: number, window: number): Move | null {
  const over = used - rules.compaction.critical * window;
  const full = used >= window;
  const shrink = shrinkFirst(state, rules, over, full);
  if (shrink) return shrink;
  if (state.staged.length > 0) return { do: 'commit_collapses', count: enough(state.staged, over) };
  if (mayCompact(state, rules, full)) return { do: 'compact', trigger: 'auto', because: null };
  if (!full) return null;
  const why = rules.compaction.enabled ? 'compaction could not make room' : 'compaction is off';
  return blocked(
    `The context is about ${used} tokens, the model's window is ${window}, and ${why}. Start a new session, or a model with a larger window.`,
  );
}

/**
 * Old results are shrunk before anything else is done (L8), once an iteration, and what that frees
 * only an activity can say. The one that would summarise is asked first: it goes on when that is
 * too little even with all that is staged.
 */
function shrinkFirst(state: RunState, rules: Rules, over: number, full: boolean): Move | null {
  const { compaction, iteration, staged } = state;
  if (compaction.shrunkIn === iteration) return null;
  const auto = { do: 'compact', trigger: 'auto', because: null } as const;
  if (mayCompact(state, rules, false)) return { ...auto, unlessFreed: over - total(staged) };
  return staged.length > 0 || full ? { ...auto, unlessFreed: NO_SUMMARY } : null;
}

/** How many of the oldest bring it below by `over`. */
function enough(savings: readonly number[], over: number): number {
  let saved = 0;
  const at = savings.findIndex((saving) => (saved += saving) > over);
  return at < 0 ? savings.length : at + 1;
}

/** Once before each call; again only after a failure, when the call cannot be made without. */
function mayCompact({ compaction, iteration }: RunState, rules: Rules, full: boolean): boolean {
  const { enabled, maxFailures } = rules.compaction;
  if (!enabled || compaction.failures >= maxFailures) return false;
  return compaction.triedIn !== iteration || (full && compaction.failures > 0);
}

function stagingDue(state: RunState, rules: Rules, window: number): boolean {
  return rules.compaction.enabled && rules.compaction.collapse && hasGrown(state, rules, window);
}

/** Before the first reply there is nothing that the model could be asked about. */
function preparationDue(state: RunState, rules: Rules, window: number): boolean {
  const isFree = !state.preparing && state.head !== null && state.contextTokens > 0;
  return rules.compaction.enabled && isFree && hasGrown(state, rules, window);
}

/** Since the last try. */
function hasGrown(state: RunState, rules: Rules, window: number): boolean {
  const { stagedAt } = state.compaction;
  return stagedAt === null || unstagedTokens(state, rules.fixedTokens) >= stagedAt + STAGE_AGAIN * window;
}

function blocked(detail: string): Move {
  return showError({ reason: 'blocking_limit', detail });
}

// A prompt too long, or media too large: commit what is staged, compact, then say so (L23–L25).

export function recoverTooLong(state: RunState, rules: Rules, because: NonNullable<Because>): Move {
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
 * The compaction that was prepared is there, or it failed: then there is none any more, and another
 * is made.
 */
export function afterWait(state: RunState, rules: Rules, because: Because): Move {
  return because ? recoverTooLong(state, rules, because) : prepare(state, rules);
}

/** The compaction that was to help is over. */
export function afterReactive(state: RunState, rules: Rules, result: Compacted, because: NonNullable<Because>): Move {
  if (result.kind !== 'compacted') return showError(because);
  return (
    blockIfTooClose(state, rules) ?? { do: 'go_round', transition: { reason: 'reactive_compact_retry', append: [] } }
  );
}

/**
 * L10: a conversation that fills its window again at once cannot be helped by one more compaction.
 */
export function blockIfTooClose(state: RunState, rules: Rules): Move | null {
  if (!isTooClose(state, rules)) return null;
  return blocked(
    `The context was compacted ${state.compaction.close} times within a few turns and is full again. ` +
      'What the last turns bring in is too large: ask for smaller parts, or start a new session.',
  );
}

/**
 * None is prepared any more: the next is made when the window is full, and ends the run where it
 * follows as close.
 */
export function isTooClose({ compaction }: RunState, rules: Rules): boolean {
  return compaction.close >= rules.compaction.maxClose;
}
