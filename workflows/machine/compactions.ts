// Applies to the state what a compaction changes, one that is prepared beside the run, and staged
// collapses (L8–L11).
import type {
  AppendedFacts,
  CollapseResult,
  CompactionResult,
  FailedHook,
  PreparedCompaction,
  ShrunkResults,
} from '../contract/activities.ts';
import type { Hash } from '../contract/ids.ts';
import { addSpend, type Rules } from '../contract/loop.ts';
import { pendingTokens, tokensInUse, tokensWithoutStaged } from './context.ts';
import type { Event, TakenPreparation } from './events.ts';
import type { CompactionTracking, HasChange, Preparing, RunState } from './state.ts';

/** Compactions at most this many turns apart are close (L10). */
const CLOSE_TURNS = 2;

export function absorbCompacted(state: RunState, rules: Rules, result: CompactionResult, has: HasChange): RunState {
  const recount = (counted: RunState, tokens?: number): RunState => recountContext(counted, rules, tokens, has);
  const charged = { ...state, spend: addSpend(state.spend, result.spend), failures: 0 };
  switch (result.kind) {
    case 'nothing':
      return charged;
    case 'parked':
      return { ...charged, failures: result.failures };
    case 'failed':
      return noteFailure(charged, rules, result);
    case 'unshrunk':
      return recount({ ...charged, compaction: { ...state.compaction, shrunkIn: state.iteration } }, result.tokens);
    case 'shrunk':
      return recount(applyShrinking(charged, result), result.tokens);
    case 'as_is':
      return recount(leaveAsIs(charged, result), result.tokens);
    case 'compacted':
      return {
        ...withBoundary(charged, rules),
        head: result.head,
        pending: [],
        contextTokens: result.after,
        newerTokens: 0,
        replaced: null,
      };
  }
}

/** Makes the changes that every boundary brings. */
function withBoundary(state: RunState, rules: Rules): RunState {
  const { preparing: _given, ...rest } = state;
  return { ...rest, staged: [], compaction: trackCompaction(state), taskRemaining: remainingTaskBudget(state, rules) };
}

function trackCompaction({ turn, iteration, compaction: { close, lastTurn } }: RunState): CompactionTracking {
  const near = lastTurn !== null && turn - lastTurn <= CLOSE_TURNS;
  return {
    failures: 0,
    close: near ? close + 1 : 1,
    lastTurn: turn,
    triedIn: iteration,
    shrunkIn: iteration,
    stagedAt: null,
  };
}

type PreparationStart = Pick<Extract<Event, { kind: 'preparing' }>, 'begins' | 'keeps'>;

/**
 * Notes how large the context is, so that no other preparation begins before it has grown (L9).
 * Without `begins` it notes the size alone, and nothing is being prepared.
 */
export function notePreparation(state: RunState, rules: Rules, { begins, keeps }: PreparationStart): RunState {
  const compaction = { ...state.compaction, stagedAt: tokensWithoutStaged(state, rules.fixedTokens) };
  const preparing = { iteration: state.iteration, ...(keeps && { keeps }) };
  return { ...state, compaction, ...(begins && { preparing }) };
}

/** A preparation that another boundary has overtaken is paid for, and not taken. */
export function absorbPrepared(state: RunState, { prepared }: TakenPreparation): RunState {
  if (!prepared) return state;
  const { iteration, result } = prepared;
  const charged = { ...state, spend: addSpend(state.spend, result.spend) };
  const noted = noteFailedHooks(charged, result.hooks ?? []);
  if (state.preparing?.iteration !== iteration) return noted;
  return { ...noted, preparing: preparationOf(iteration, result) };
}

/** Whatever came of the preparation, the run does not wait for it again. */
export function absorbWaited(state: RunState, event: TakenPreparation): RunState {
  const after = absorbPrepared(state, event);
  return after.preparing?.made ? after : { ...after, preparing: null };
}

function preparationOf(iteration: number, result: PreparedCompaction): Preparing | null {
  if (result.kind !== 'prepared') return null;
  const { boundary, before, after } = result;
  return { iteration, made: { boundary, saved: before - after } };
}

/**
 * Begins the next request with the prepared boundary. Unlike with a transition, the same iteration
 * goes on, with less in view.
 */
export function takePrepared(state: RunState, rules: Rules): RunState {
  const preparation = state.preparing?.made;
  if (!preparation) return state;
  const { boundary, saved } = preparation;
  const { staged, compaction, taskRemaining, contextTokens } = state;
  const pending = [...state.pending, { kind: 'prepared_boundary', boundary } as const];
  return {
    ...withBoundary(state, rules),
    pending,
    contextTokens: Math.max(1, contextTokens - saved),
    beforePrepared: { staged, compaction, taskRemaining, contextTokens },
  };
}

/**
 * Takes back what was counted for a prepared boundary that is left out, because what it sums up has
 * changed: there was no compaction (L9–L11). Sessions of earlier releases counted one.
 */
export function settlePrepared(
  state: RunState,
  { leftOut, ...result }: AppendedFacts & { readonly kind: string; readonly head?: Hash },
  has: HasChange,
): RunState {
  const { beforePrepared, ...rest } = state;
  if (!beforePrepared) return state;
  if (leftOut) return has('perdure-left-out') ? { ...rest, ...beforePrepared } : state;
  // A cut reply may be replaced, and its entries stored again (L26).
  return result.head === undefined || result.kind === 'cut_off' ? state : rest;
}

export function noteFailedHooks(state: RunState, hooks: readonly FailedHook[]): RunState {
  const notices = hooks.map((failure) => ({ kind: 'notice', notice: { kind: 'hook_failed', ...failure } }) as const);
  return { ...state, pending: [...state.pending, ...notices] };
}

function noteFailure(state: RunState, rules: Rules, result: Extract<CompactionResult, { kind: 'failed' }>): RunState {
  const { head, freed = 0, detail } = result;
  const shrunk = head === undefined ? state : applyShrinking(state, { head, freed });
  const failures = state.compaction.failures + 1;
  const exhausted = failures >= rules.compaction.maxFailures;
  const { iteration } = state;
  return {
    ...shrunk,
    compaction: { ...shrunk.compaction, failures, triedIn: iteration, shrunkIn: iteration },
    pending: [...shrunk.pending, { kind: 'notice', notice: { kind: 'compaction_failed', detail, spent: exhausted } }],
  };
}

/**
 * Nothing was compacted, and another try in this iteration would come to the same. It does not
 * count as a failure.
 */
function leaveAsIs(state: RunState, { head, freed = 0 }: Extract<CompactionResult, { kind: 'as_is' }>): RunState {
  const shrunk = head === undefined ? state : applyShrinking(state, { head, freed });
  const { iteration } = state;
  const compaction = { ...shrunk.compaction, failures: 0, triedIn: iteration, shrunkIn: iteration };
  return { ...shrunk, compaction };
}

/**
 * Entries that the last reply counted may be out of sight now: snipped (L7), or too large and shown
 * in part (L6). `tokens` is an estimate of all that is shown: it may lower the count, and never
 * raises it.
 */
function recountContext(state: RunState, rules: Rules, tokens = Infinity, has: HasChange): RunState {
  const { newerTokens } = state;
  const counted = Math.max(1, tokens - newerTokens - pendingTokens(state.pending));
  const lowered = { ...state, contextTokens: Math.min(state.contextTokens, counted) };
  const over = Math.min(newerTokens, tokensInUse(lowered, rules.fixedTokens) - tokens);
  // The entry may be newer than all that a reply has counted. Sessions of earlier releases were
  // blocked by it for good.
  return over > 0 && has('perdure-recount') ? { ...lowered, newerTokens: newerTokens - over } : lowered;
}

/** Unlike a compaction, shrinking changes nothing of L10 and L11. */
function applyShrinking(state: RunState, { head, freed }: ShrunkResults): RunState {
  const { stagedAt } = state.compaction;
  const compaction = {
    ...state.compaction,
    shrunkIn: state.iteration,
    stagedAt: stagedAt === null ? null : stagedAt - freed,
  };
  return { ...storePending(state, head, freed), compaction };
}

/**
 * The pending entries are in the transcript now, and the last reply did not count them. Less is
 * shown of those it did count.
 */
export function storePending(state: RunState, head: Hash, freed: number): RunState {
  const newerTokens = state.newerTokens + pendingTokens(state.pending);
  const contextTokens = Math.max(0, state.contextTokens - freed);
  return { ...state, head, pending: [], newerTokens, contextTokens, replaced: null };
}

/** The API counts the task budget from what it is shown, and it is shown less from now on (L11). */
function remainingTaskBudget(state: RunState, { taskBudget }: Rules): number | null {
  if (taskBudget === null) return null;
  return Math.max(0, (state.taskRemaining ?? taskBudget) - state.contextTokens);
}

export function absorbCollapsed(state: RunState, rules: Rules, result: CollapseResult): RunState {
  const charged = { ...state, spend: addSpend(state.spend, result.spend) };
  const after = stageCollapses(charged, result);
  return { ...after, compaction: { ...after.compaction, stagedAt: tokensWithoutStaged(after, rules.fixedTokens) } };
}

function stageCollapses(state: RunState, result: CollapseResult): RunState {
  switch (result.kind) {
    case 'nothing':
    case 'failed':
      return state;
    case 'shrunk':
      return storePending(state, result.head, result.freed);
    case 'staged':
      return { ...storePending(state, result.head, result.freed ?? 0), staged: [...state.staged, ...result.savings] };
  }
}
