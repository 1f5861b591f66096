// Absorbs an event into the state before anything is decided: the new head, what was spent, who keeps failing.
import type { Append, BatchSummary, ModelResult, Collapsed, Compacted, ShrunkResults } from '../contract/activities.ts';
import { addSpend, type Rules } from '../contract/loop.ts';
import type { Event, ModelEnded, ToolsRan } from './events.ts';
import type { RunState } from './state.ts';
import { contextAfter, withCallsSpend } from './calls.ts';
import type { Hash } from '../contract/ids.ts';
import { pendingTokens, unstagedTokens } from './context.ts';

export function absorb(state: RunState, rules: Rules, event: Event): RunState {
  switch (event.kind) {
    case 'ready':
    case 'stopped':
      return state;
    case 'model':
      return absorbAgents(absorbSummary(absorbModel(state, event.result), event), event);
    case 'tools_ran':
      return absorbAgents(absorbSummary(absorbTools(state, event), event), event);
    case 'compacted':
      return absorbCompacted(state, rules, event.result);
    case 'collapsed':
      return absorbCollapsed(state, rules, event.result);
    case 'hooks_ran':
      return noted(
        state,
        event.ran.failed.map((failure) => ({ kind: 'hook_failed', ...failure })),
      );
  }
}

function absorbModel(state: RunState, result: ModelResult): RunState {
  const spent = {
    ...state,
    spend: addSpend(state.spend, result.spend),
    supersedes: null,
    retells: false,
    failures: 0,
    overloads: 0,
  };
  switch (result.kind) {
    case 'message':
    case 'interrupted': {
      const { head, contextTokens, calls } = result;
      const newerTokens = calls.reduce((sum, { outcome }) => sum + (outcome?.tokens ?? 0), 0);
      return { ...spent, head, pending: [], contextTokens, newerTokens };
    }
    case 'parked':
      return {
        ...spent,
        supersedes: state.supersedes,
        retells: state.retells,
        failures: result.failures,
        overloads: result.overloads ?? 0,
      };
    // Whether a cut reply is kept (L27) or replaced (L26) is not decided yet.
    case 'cut_off':
    case 'nothing':
    case 'media_too_large':
    case 'refused':
    case 'fallback':
    case 'hook_stopped':
    case 'failed':
      return spent;
    case 'too_long':
      return result.window === undefined ? spent : { ...spent, window: result.window };
  }
}

/** L42: it was made while the model was called; it goes into the transcript with what comes next. */
function absorbSummary(state: RunState, event: ModelEnded | ToolsRan): RunState {
  const { summary, overtaken } = event;
  const billed = overtaken ? { ...state, spend: addSpend(state.spend, overtaken) } : state;
  if (!summary) return billed;
  // Entries that were pending at a cut reply may be stored with it; those that came meanwhile were not, and follow it.
  const isCut = event.kind === 'model' && event.result.kind === 'cut_off';
  const pending = isCut ? state.pending : [...state.pending, ...summaryAppend(summary)];
  return { ...billed, pending, spend: addSpend(billed.spend, summary.spend), pendingSummary: null };
}

export function summaryAppend(summary: BatchSummary | undefined): readonly Append[] {
  if (!summary || summary.text === null) return [];
  return [{ kind: 'notice', notice: { kind: 'batch_summary', text: summary.text } }];
}

/** L69: what they took counts as the run's own. */
export function absorbAgents(state: RunState, { agents = [] }: Pick<ToolsRan, 'agents'>): RunState {
  if (agents.length === 0) return state;
  const spend = agents.reduce((sum, each) => addSpend(sum, each.spend), state.spend);
  return { ...state, spend, agents: [...(state.agents ?? []), ...agents] };
}

function noted(state: RunState, notices: readonly Extract<Append, { kind: 'notice' }>['notice'][]): RunState {
  return { ...state, pending: [...state.pending, ...notices.map((notice) => ({ kind: 'notice', notice }) as const)] };
}

function absorbTools(state: RunState, event: ToolsRan): RunState {
  const items = event.results.flatMap((result) => (result.item ? [result.item] : []));
  const regular = event.results.filter(({ item }) => item !== null);
  return {
    ...state,
    failing: countFailures(state.failing, event),
    spend: withCallsSpend(state.spend, event.results),
    newerTokens: regular.reduce((sum, { facts }) => sum + (facts.tokens ?? 0), state.newerTokens),
    toolContext: contextAfter(state.toolContext, event.results),
    pending: [
      ...state.pending,
      ...(items.length > 0 ? ([{ kind: 'outcomes', items }] as const) : []),
      ...(event.cut ? ([{ kind: 'notice', notice: { kind: 'call_cut' } }] as const) : []),
      ...(event.steered ?? []),
    ],
  };
}

/**
 * The replies in a row in which the same tool fails with the same input; anything else that ran in between starts the count anew (L34). A
 * reply that makes the call six times counts once: the model has not seen it fail. What never ran (a noted outcome without a
 * key) or was cancelled, with a sibling or by a stop, neither failed nor succeeded; what may have run, and nobody knows, failed.
 */
function countFailures(failing: RunState['failing'], { calls, results }: ToolsRan): RunState['failing'] {
  let count = failing;
  let ofThisReply = false;
  calls.forEach((call, at) => {
    const result = results[at];
    if (result?.item && result.item.key === undefined && !result.item.unknown) return;
    if (result?.facts.cancelled) return;
    if (!result?.facts.error) count = null;
    else if (count?.signature !== call.signature) count = { signature: call.signature, times: 1 };
    else if (!ofThisReply) count = { ...count, times: count.times + 1 };
    ofThisReply = count !== null;
  });
  return count;
}

// The effect of a compaction, or of a staging of collapses, on the state (L8–L11).

/** Compactions at most this many turns apart are close (L10). */
const CLOSE_TURNS = 2;

function absorbCompacted(state: RunState, rules: Rules, result: Compacted): RunState {
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
 * Entries that the last reply counted may be out of sight now: snipped (L7), or too large and shown in part (L6).
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

/** The pending entries are in the transcript now, and the last reply did not count them; of those it did count, less is shown. */
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

function absorbCollapsed(state: RunState, rules: Rules, result: Collapsed): RunState {
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
