// What a compaction or a staging of collapses leaves in the state (L8–L11).
import type { Collapsed, Compacted, ShrunkResults } from '../contract/activities.ts';
import type { Hash } from '../contract/ids.ts';
import { addSpend, type Rules } from '../contract/loop.ts';
import { pendingTokens, unstagedTokens } from './context.ts';
import type { RunState } from './state.ts';

/** Compactions at most this many turns apart are close (L10). */
const CLOSE_TURNS = 2;

export function absorbCompacted(state: RunState, rules: Rules, result: Compacted): RunState {
  const spent = { ...state, spend: addSpend(state.spend, result.spend), failures: 0 };
  switch (result.kind) {
    case 'nothing':
      return spent;
    case 'parked':
      return { ...spent, failures: result.failures };
    case 'failed':
      return failed(spent, rules, result);
    case 'unshrunk':
      return recounted({ ...spent, compaction: { ...state.compaction, shrunkIn: state.iteration } }, result.tokens);
    case 'shrunk':
      return recounted(shrunk(spent, result), result.tokens);
    case 'as_is':
      return asIs(spent, result);
    case 'compacted': {
      const { close, lastTurn } = state.compaction;
      const near = lastTurn !== null && state.turn - lastTurn <= CLOSE_TURNS;
      return {
        ...spent,
        head: result.head,
        pending: [],
        contextTokens: result.after,
        newerTokens: 0,
        replaced: null,
        staged: [],
        compaction: {
          failures: 0,
          close: near ? close + 1 : 1,
          lastTurn: state.turn,
          triedIn: state.iteration,
          shrunkIn: state.iteration,
          stagedAt: null,
        },
        taskRemaining: carriedBudget(state, rules),
      };
    }
  }
}

function failed(state: RunState, rules: Rules, result: Extract<Compacted, { kind: 'failed' }>): RunState {
  const { head, freed = 0, detail } = result;
  const kept = head === undefined ? state : shrunk(state, { head, freed });
  const failures = state.compaction.failures + 1;
  const spent = failures >= rules.compaction.maxFailures;
  const { iteration } = state;
  return {
    ...kept,
    compaction: { ...kept.compaction, failures, triedIn: iteration, shrunkIn: iteration },
    pending: [...kept.pending, { kind: 'notice', notice: { kind: 'compaction_failed', detail, spent } }],
  };
}

/** It was no failure, and another try in this iteration would come to the same. */
function asIs(state: RunState, { head, freed = 0, tokens }: Extract<Compacted, { kind: 'as_is' }>): RunState {
  const kept = head === undefined ? state : shrunk(state, { head, freed });
  const { iteration } = state;
  const compaction = { ...kept.compaction, failures: 0, triedIn: iteration, shrunkIn: iteration };
  return recounted({ ...kept, compaction }, tokens);
}

/**
 * What the last reply counted may be in sight no longer: snipped (L7), or a message that was too large and is shown in part (L6).
 * `tokens` is an estimate of all that is shown, so that it may lower the number and never raises it.
 */
function recounted(state: RunState, tokens = Infinity): RunState {
  const counted = Math.max(1, tokens - state.newerTokens - pendingTokens(state.pending));
  return { ...state, contextTokens: Math.min(state.contextTokens, counted) };
}

/** No compaction: nothing of L10 and L11 changes. */
function shrunk(state: RunState, { head, freed }: ShrunkResults): RunState {
  const { stagedAt } = state.compaction;
  const compaction = {
    ...state.compaction,
    shrunkIn: state.iteration,
    stagedAt: stagedAt === null ? null : stagedAt - freed,
  };
  return { ...stored(state, head, freed), compaction };
}

/** What was pending is in the transcript now, and not in what the last reply counted; of what it did count, less is shown. */
function stored(state: RunState, head: Hash, freed: number): RunState {
  const newerTokens = state.newerTokens + pendingTokens(state.pending);
  const contextTokens = Math.max(0, state.contextTokens - freed);
  return { ...state, head, pending: [], newerTokens, contextTokens, replaced: null };
}

/** L11: the API counts from what it is shown, and it is shown less from now on. */
function carriedBudget(state: RunState, { taskBudget }: Rules): number | null {
  if (taskBudget === null) return null;
  return Math.max(0, (state.taskRemaining ?? taskBudget) - state.contextTokens);
}

export function absorbCollapsed(state: RunState, rules: Rules, result: Collapsed): RunState {
  const spent = { ...state, spend: addSpend(state.spend, result.spend) };
  const after = staged(spent, result);
  return { ...after, compaction: { ...after.compaction, stagedAt: unstagedTokens(after, rules.fixedTokens) } };
}

function staged(state: RunState, result: Collapsed): RunState {
  switch (result.kind) {
    case 'nothing':
    case 'failed':
      return state;
    case 'shrunk':
      return stored(state, result.head, result.freed);
    case 'staged':
      return { ...stored(state, result.head, result.freed ?? 0), staged: [...state.staged, ...result.savings] };
  }
}
