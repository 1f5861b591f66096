// Absorbs an event into the state before anything is decided: the new head, the cost, which call
// keeps failing.
// Applies what a reply's calls change for later calls and for the run, and what they cost.
import type { Append, BatchSummary, ModelResult, ToolContextState } from '../contract/activities.ts';
import type { Hash } from '../contract/ids.ts';
import { addSpend, type Rules, type Spend } from '../contract/loop.ts';
import {
  absorbCollapsed,
  absorbCompacted,
  absorbPrepared,
  absorbWaited,
  noteFailedHooks,
  notePreparation,
  settlePrepared,
} from './compactions.ts';
import { pendingTokens } from './context.ts';
import type { CallResult, Event, ModelEnded, ToolsRan } from './events.ts';
import { absorbGraded } from './goals.ts';
import { countRepeats } from './repeats.ts';
import type { HasChange, RunState } from './state.ts';

export function absorb(before: RunState, rules: Rules, event: Event, has: HasChange = () => true): RunState {
  const state = 'result' in event ? settlePrepared(before, event.result, has) : before;
  switch (event.kind) {
    case 'ready':
    case 'stopped':
      return state;
    case 'model':
      return absorbSideWork(absorbModel(state, event.result, has), event);
    case 'tools_ran':
      return absorbSideWork(absorbTools(state, event), event);
    case 'preparing':
      return notePreparation(state, rules, event);
    case 'prepared':
      return absorbWaited(state, event);
    case 'compacted':
      return absorbCompacted(state, rules, event.result, has);
    case 'collapsed':
      return absorbCollapsed(state, rules, event.result);
    case 'waited_at_budget':
      return absorbAgents(leaveBudget(state, event), event);
    case 'graded':
      return absorbGraded(state, event.result);
    case 'hooks_ran':
      return noteFailedHooks(state, event.ran.failed);
  }
}

/** Returns the state of a run that waits at the session's budget, with its entries stored (G69). */
export function waitAtBudget(state: RunState, head: Hash | null): RunState {
  const newerTokens = state.newerTokens + pendingTokens(state.pending);
  return { ...state, head, pending: [], newerTokens, isAtBudget: true };
}

function leaveBudget(state: RunState, { head, append }: Extract<Event, { kind: 'waited_at_budget' }>): RunState {
  const { isAtBudget: _, ...left } = waitAtBudget(state, head);
  return { ...left, pending: append };
}

/** Absorbs work that ended while the step ran. */
function absorbSideWork(state: RunState, event: ModelEnded | ToolsRan): RunState {
  return absorbPrepared(absorbAgents(absorbSummary(state, event), event), event);
}

function absorbModel(state: RunState, result: ModelResult, has: HasChange): RunState {
  const charged = {
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
      return { ...charged, head, pending: tellTextCall(state, result, has), contextTokens, newerTokens };
    }
    case 'parked':
      return {
        ...charged,
        supersedes: state.supersedes,
        retells: state.retells,
        failures: result.failures,
        overloads: result.overloads ?? 0,
      };
    // It is not decided yet whether a cut reply is kept (L27) or replaced (L26).
    case 'cut_off':
    case 'nothing':
    case 'media_too_large':
    case 'refused':
    case 'fallback':
    case 'hook_stopped':
    case 'failed':
      return charged;
    case 'too_long':
      return result.window === undefined ? charged : { ...charged, window: result.window };
  }
}

/** Another call as text, after the model was told once, is told to people (L15). */
function tellTextCall({ textCallRetried }: RunState, result: ModelResult, has: HasChange): readonly Append[] {
  const name = result.kind === 'message' ? result.textCall : undefined;
  if (name === undefined || textCallRetried !== true || !has('perdure-text-calls')) return [];
  return [{ kind: 'notice', notice: { kind: 'call_as_text', name, again: true } }];
}

/**
 * The summary was made while the model was called, and goes into the transcript with the next step
 * (L42).
 */
function absorbSummary(state: RunState, event: ModelEnded | ToolsRan): RunState {
  const { summary, overtaken } = event;
  const billed = overtaken ? { ...state, spend: addSpend(state.spend, overtaken) } : state;
  if (!summary) return billed;
  // Entries that were pending at a cut reply may be stored with it. Later ones were not, and follow
  // it.
  const isCut = event.kind === 'model' && event.result.kind === 'cut_off';
  const pending = isCut ? state.pending : [...state.pending, ...summaryAppend(summary)];
  return { ...billed, pending, spend: addSpend(billed.spend, summary.spend), pendingSummary: null };
}

export function summaryAppend(summary: BatchSummary | undefined): readonly Append[] {
  if (!summary || summary.text === null) return [];
  return [{ kind: 'notice', notice: { kind: 'batch_summary', text: summary.text } }];
}

/** The spending of agents counts as the run's own (L69). */
export function absorbAgents(state: RunState, { agents = [] }: Pick<ToolsRan, 'agents'>): RunState {
  if (agents.length === 0) return state;
  const spend = agents.reduce((sum, each) => addSpend(sum, each.spend), state.spend);
  return { ...state, spend, agents: [...(state.agents ?? []), ...agents] };
}

function absorbTools(state: RunState, event: ToolsRan): RunState {
  const items = event.results.flatMap((result) => (result.item ? [result.item] : []));
  const regular = event.results.filter(({ item }) => item !== null);
  return {
    ...state,
    ...(event.head && { head: event.head }),
    failing: countFailures(state.failing, event),
    repeats: countRepeats(state.repeats ?? null, event),
    spend: withCallsSpend(state.spend, event.results),
    newerTokens: regular.reduce((sum, { facts }) => sum + (facts.tokens ?? 0), state.newerTokens),
    toolContext: toolContextAfter(state.toolContext, event.results),
    pending: [
      ...state.pending,
      ...(items.length > 0 ? ([{ kind: 'outcomes', items }] as const) : []),
      ...(event.cut ? ([{ kind: 'notice', notice: { kind: 'call_cut' } }] as const) : []),
      ...(event.steered ?? []),
    ],
  };
}

/**
 * Counts the replies in a row in which the same tool fails with the same input; any other call that
 * ran in between starts the count anew (L34). A reply that makes the call six times counts once:
 * the model has not seen it fail. A call that never ran (a noted outcome without a key) or was
 * cancelled, with a sibling or by a stop, neither failed nor succeeded. A call whose outcome is
 * unknown failed.
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

/** Adds what calls have spent on the small model (L86). */
export function withCallsSpend(spend: Spend, results: readonly (CallResult | undefined)[]): Spend {
  return results.reduce((sum, result) => (result?.facts.spend ? addSpend(sum, result.facts.spend) : sum), spend);
}

/** Adds the rules that a person gave the run; the context is as before where there are none. */
export function withGranted(
  context: ToolContextState | null,
  granted: readonly string[] | undefined,
): ToolContextState | null {
  return granted === undefined ? context : { ...context, granted };
}

/**
 * Applies the changes of context modifiers in the model's order, in whichever order the calls
 * finished (L38). A result is undefined while its call has none.
 */
export function toolContextAfter(
  before: ToolContextState | null,
  results: readonly (CallResult | undefined)[],
): ToolContextState | null {
  return results.reduce<ToolContextState | null>((context, result) => {
    const modify = result?.facts.modify;
    return modify ? { ...context, ...modify } : context;
  }, before);
}
