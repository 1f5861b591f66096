// Before the model is called: is there money, room, and if not, what makes room (L8, L9, L10, L12, L51). In this order: shrink old
// results, commit what is staged, compact, or say that nothing helps; below that, stage for later.
import type { Rules } from '../contract/loop.ts';
import { newestTokens, total, unstagedTokens, usedTokens } from './context.ts';
import type { Move } from './events.ts';
import { budgetGone, modelLimits } from './limits.ts';
import { showError } from './show-error.ts';
import type { RunState } from './state.ts';
import { wrapUpDue } from './wrap-up.ts';

/** Collapses are staged again when the context has grown by this share of the window. */
const STAGE_AGAIN = 0.05;
/** Whatever is freed, old results are shrunk and nothing more. */
const NO_SUMMARY = -1;

export function prepare(state: RunState, rules: Rules): Move {
  return budgetGone(state, rules) ?? first(state, rules) ?? { do: 'call_model' };
}

/** Before a wrap-up nothing is made room for: it would be paid for out of what is left. */
function first(state: RunState, rules: Rules): Move | null {
  return state.wrapUp === null ? (wrapUpDue(state, rules) ?? room(state, rules)) : null;
}

function room(state: RunState, rules: Rules): Move | null {
  const { window } = modelLimits(state, rules);
  const used = usedTokens(state, rules.fixedTokens);
  const newest = newestTokens(state.pending);
  if (rules.fixedTokens + newest > window) {
    return blocked(
      `The system prompt, the tools and the newest message are about ${rules.fixedTokens + newest} tokens; the model's window is ${window}. Shorten the message.`,
    );
  }
  const { critical, warning } = rules.compaction;
  if (used >= critical * window) return makeRoom(state, rules, used, window);
  const over = used - warning * window;
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
 * Old results are shrunk before anything else is done (L8), once an iteration, and what that frees only an activity can say. The one
 * that would summarise is asked first: it goes on when that is too little even with all that is staged.
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
  const { stagedAt } = state.compaction;
  if (!rules.compaction.enabled || !rules.compaction.collapse) return false;
  return stagedAt === null || unstagedTokens(state, rules.fixedTokens) >= stagedAt + STAGE_AGAIN * window;
}

export function blocked(detail: string): Move {
  return showError({ reason: 'blocking_limit', detail });
}
