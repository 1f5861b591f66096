// What a compaction or a staging of collapses leaves in the state (L9–L11).
import type { Collapsed, Compacted } from '../contract/activities.ts';
import { addSpend, type Rules } from '../contract/loop.ts';
import { pendingTokens, usedTokens } from './context.ts';
import type { RunState } from './state.ts';

/** Compactions at most this many turns apart are close (L10). */
const CLOSE_TURNS = 2;

export function absorbCompacted(state: RunState, rules: Rules, result: Compacted): RunState {
  const spent = { ...state, spend: addSpend(state.spend, result.spend) };
  switch (result.kind) {
    case 'nothing':
      return spent;
    case 'failed':
      return failed(spent, rules, result.detail);
    case 'compacted': {
      const { close, lastTurn } = state.compaction;
      const near = lastTurn !== null && state.turn - lastTurn <= CLOSE_TURNS;
      return {
        ...spent,
        head: result.head,
        pending: [],
        contextTokens: result.after,
        newerTokens: 0,
        staged: [],
        compaction: {
          failures: 0,
          close: near ? close + 1 : 1,
          lastTurn: state.turn,
          triedIn: state.iteration,
          stagedAt: null,
        },
        taskRemaining: carriedBudget(state, rules),
      };
    }
  }
}

function failed(state: RunState, rules: Rules, detail: string): RunState {
  const failures = state.compaction.failures + 1;
  const spent = failures >= rules.compaction.maxFailures;
  return {
    ...state,
    compaction: { ...state.compaction, failures, triedIn: state.iteration },
    pending: [...state.pending, { kind: 'notice', notice: { kind: 'compaction_failed', detail, spent } }],
  };
}

/** L11: the API counts from what it is shown, and it is shown less from now on. */
function carriedBudget(state: RunState, { taskBudget }: Rules): number | null {
  if (taskBudget === null) return null;
  return Math.max(0, (state.taskRemaining ?? taskBudget) - state.contextTokens);
}

export function absorbCollapsed(state: RunState, rules: Rules, result: Collapsed): RunState {
  const stagedAt = usedTokens(state, rules.fixedTokens);
  const spend = addSpend(state.spend, result.spend);
  const tried = { ...state, spend, compaction: { ...state.compaction, stagedAt } };
  if (result.kind !== 'staged') return tried;
  // What was pending is in the transcript now, and not in what the last reply counted.
  const newerTokens = state.newerTokens + pendingTokens(state.pending);
  return { ...tried, head: result.head, pending: [], newerTokens, staged: [...state.staged, ...result.savings] };
}
