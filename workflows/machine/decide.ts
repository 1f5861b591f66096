// Decides the next move: the recovery ladder of the loop. Pure: state and event in, move out. Each
// branch has a row in the tests' table.
import type { Append, ModelResult, StopHooksRan } from '../contract/activities.ts';
import { NOT_RUN_INTERRUPTED, NOT_RUN_SPENT } from '../contract/calls.ts';
import type { Rules, StopCause, Terminal } from '../contract/loop.ts';
import { recoverCutReply, endOnCutReply, recoverRefusedCap } from './cut-off.ts';
import type { Event, ModelEnded, Move, ToolsRan, Transition } from './events.ts';
import {
  endIfBudgetSpent,
  endIfTurnsSpent,
  errorNotice,
  notRunOutcomes,
  showError,
  stopNotice,
  stopTerminal,
} from './limits.ts';
import { prepare, afterReactive, afterPreparation, blockIfTooClose, recoverTooLong } from './prepare.ts';
import { endIfRepeating, tellRepeats } from './repeats.ts';
import { afterGrading, endNaturally } from './goals.ts';
import type { HasChange, RunState } from './state.ts';
import { endWrapUp, wrapUpIfNear } from './wrap-up.ts';
import { present } from '../contract/present.ts';

export function decide(state: RunState, rules: Rules, event: Event, has: HasChange = () => true): Move {
  switch (event.kind) {
    case 'ready':
      return prepare(state, rules);
    case 'stopped':
      return endStopped(event.stop, rules, []);
    case 'tools_ran':
      return afterTools(state, rules, event, has);
    case 'model':
      return endWrapUp(state, rules, event) ?? afterModel(state, rules, event, has);
    case 'compacted':
      return afterCompaction(state, rules, event);
    case 'collapsed':
      return event.stop ? endStopped(event.stop, rules, []) : prepare(state, rules);
    case 'preparing':
      return prepare(state, rules);
    case 'prepared':
      return event.stop ? endStopped(event.stop, rules, []) : afterPreparation(state, rules, event.because);
    case 'waited_at_budget':
      return event.stop ? endStopped(event.stop, rules, []) : prepare(state, rules);
    case 'graded':
      return afterGraded(state, rules, event);
    case 'hooks_ran':
      return event.stop ? endStopped(event.stop, rules, []) : afterStopHooks(state, rules, event.ran);
  }
}

function afterModel(state: RunState, rules: Rules, event: ModelEnded, has: HasChange): Move {
  const { result, stop } = event;
  const lower = stop || endIfBudgetSpent(state, rules) ? null : recoverRefusedCap(state, rules, result);
  if (lower) return lower;
  switch (result.kind) {
    case 'message':
      return afterReply(state, rules, result, has);
    case 'cut_off':
      // A stop that came too late for the stream still stops the run, and the reply is kept.
      return stop
        ? endOnCutReply(endStopped(stop, rules, []), result, event.summary)
        : recoverCutReply(state, rules, { ...event, result }, has);
    case 'interrupted':
      return endStopped(stop ?? 'interrupt', rules, notRunOutcomes(result.calls, NOT_RUN_INTERRUPTED));
    case 'nothing':
      return endStopped(stop ?? 'interrupt', rules, []);
    case 'parked':
      return { do: 'park', waitMs: result.waitMs };
    case 'too_long':
      return recoverTooLong(state, rules, { reason: 'prompt_too_long', detail: result.detail });
    case 'media_too_large':
      return recoverTooLong(state, rules, { reason: 'image_error', detail: result.detail });
    case 'fallback':
      return switchModel(state, rules, result);
    case 'hook_stopped':
      return { do: 'end', terminal: { reason: 'hook_stopped', detail: result.detail }, append: [] };
    case 'refused':
      return showError({ reason: 'model_error', detail: result.detail });
    case 'failed': {
      const { detail, status } = result;
      if (stop) return endStopped(stop, rules, [errorNotice(detail)]);
      const end = endIfBudgetSpent(state, rules);
      if (end) return { ...end, append: [errorNotice(detail)] };
      return showError({ reason: 'model_error', detail, ...present({ status }) });
    }
  }
}

type Reply = Extract<ModelResult, { kind: 'message' }>;

/** Complete tool_use blocks decide, not stop_reason (L15). */
function afterReply(state: RunState, rules: Rules, reply: Reply, has: HasChange): Move {
  if (reply.calls.length === 0) return afterFinalReply(state, rules, reply, has);
  const end = endIfBudgetSpent(state, rules);
  if (end) return { ...end, append: notRunOutcomes(reply.calls, NOT_RUN_SPENT) };
  return { do: 'run_tools', calls: reply.calls, cut: reply.cut === true };
}

/**
 * Goes on with the next model in the list. The calls that the model before had begun are neither
 * sent nor run (L19).
 */
function switchModel(state: RunState, rules: Rules, result: Extract<ModelResult, { kind: 'fallback' }>): Move {
  const { from, to, calls, detail } = result;
  if (state.modelPosition + 1 >= rules.models.length) return showError({ reason: 'model_error', detail });
  const append = [{ kind: 'notice', notice: { kind: 'model_switched', from, to, calls, detail } }] as const;
  return { do: 'go_round', transition: { reason: 'model_fallback', append } };
}

function afterCompaction(state: RunState, rules: Rules, event: Extract<Event, { kind: 'compacted' }>): Move {
  const { stop, result, move } = event;
  if (stop || result.kind === 'nothing') return endStopped(stop ?? 'interrupt', rules, []);
  if (result.kind === 'parked') return { do: 'park', waitMs: result.waitMs };
  if (state.demand) return { do: 'end', terminal: { reason: 'completed' }, append: [] };
  if (move.because) return afterReactive(state, rules, result, move.because);
  return blockIfTooClose(state, rules) ?? prepare(state, rules);
}

function afterGraded(state: RunState, rules: Rules, { stop, result }: Extract<Event, { kind: 'graded' }>): Move {
  if (stop || result.kind === 'nothing') return endStopped(stop ?? 'interrupt', rules, []);
  return afterGrading(state, rules, result);
}

function endStopped(stop: StopCause, rules: Rules, outcomes: readonly Append[]): Extract<Move, { do: 'end' }> {
  return {
    do: 'end',
    terminal: stopTerminal('aborted_streaming', stop, rules),
    append: [...outcomes, ...stopNotice(stop)],
  };
}

/**
 * Decides after the tools, in the contract's order: stop from outside (L48), fatal outcomes (L34),
 * a hook's stop (L41), limits (L51, L45), otherwise the next turn (L46).
 */
function afterTools(state: RunState, rules: Rules, event: ToolsRan, has: HasChange): Move {
  const turns = endIfTurnsSpent(state, rules);
  if (event.stop) {
    // After an abort the turn limit is only a notice (L45).
    const append = [...stopNotice(event.stop), ...(turns?.append ?? [])];
    return { do: 'end', terminal: stopTerminal('aborted_tools', event.stop, rules), append };
  }
  const fatal = fatalOutcome(state, rules, event);
  if (fatal) return showError(fatal);
  const hook = event.results.find(({ facts }) => facts.stop !== undefined)?.facts.stop;
  if (hook !== undefined) return { do: 'end', terminal: { reason: 'hook_stopped', detail: hook }, append: [] };
  const near = (): Move | null => wrapUpIfNear(state, rules, { leftMs: event.leftMs, turns: turns !== null });
  const end = endIfBudgetSpent(state, rules) ?? near() ?? turns ?? endIfRepeating(state, rules, event, has);
  return end ?? { do: 'go_round', transition: nextTurn(state, rules, event, has) };
}

function nextTurn(state: RunState, rules: Rules, event: ToolsRan, has: HasChange): Transition {
  const { queued: messages, snips } = event;
  const append = tellRepeats(state, rules, event, has);
  return {
    reason: 'next_turn',
    ...(append.length > 0 && { append }),
    messages,
    snips,
    summarize: rules.batchSummaries,
  };
}

function fatalOutcome(state: RunState, rules: Rules, event: ToolsRan): (Terminal & { detail: string }) | null {
  for (const { facts } of event.results) if (facts.fatal) return facts.fatal;
  if (!state.failing || state.failing.times < rules.maxSameFailures) return null;
  const failed = event.calls.find((call) => call.signature === state.failing?.signature);
  const detail = `The same call of ${failed?.name ?? 'a tool'} with the same input failed ${state.failing.times} times in a row.`;
  return { reason: 'fatal_tool_error', detail };
}

/** Output tokens: fewer than this since the last continuation do not count as progress (L31). */
const SMALL_DELTA = 500;
const ENOUGH_OF_BUDGET = 0.9;
const SMALL_DELTAS_AFTER = 3;

/**
 * Decides after a reply without calls, in the contract's order: a call that was written as text
 * (L15), structured output (L53), stop hooks (L30), token budget (L31), goal (X10), completed (L32).
 */
function afterFinalReply(state: RunState, rules: Rules, { problem, textCall }: Reply, has: HasChange): Move {
  if (textCall !== undefined && !state.textCallRetried && has('perdure-text-calls')) return retryTextCall(textCall);
  if (rules.structured && problem !== undefined) return retryOutput(state, rules, problem);
  if (rules.stopHooks) return { do: 'run_stop_hooks', active: state.stopHookActive };
  return continueOrComplete(state, rules);
}

function retryTextCall(name: string): Move {
  const append = [{ kind: 'notice', notice: { kind: 'call_as_text', name } }] as const;
  return { do: 'go_round', transition: { reason: 'call_as_text_retry', append } };
}

function retryOutput(state: RunState, rules: Rules, problem: string): Move {
  if (state.structuredRetries >= rules.maxStructuredRetries) {
    const times = `${rules.maxStructuredRetries + 1} answers did not satisfy the output schema`;
    return showError({ reason: 'structured_output_failed', detail: `${times}; the last one: ${problem}` });
  }
  const append = [{ kind: 'notice', notice: { kind: 'structured_output', problem } }] as const;
  return { do: 'go_round', transition: { reason: 'structured_output_retry', append } };
}

function afterStopHooks(state: RunState, rules: Rules, { verdict }: StopHooksRan): Move {
  switch (verdict.kind) {
    case 'passed':
      return continueOrComplete(state, rules);
    case 'prevented':
      return { do: 'end', terminal: { reason: 'stop_hook_prevented', detail: verdict.detail }, append: [] };
    case 'blocked': {
      if (state.stopHookRounds >= rules.maxStopHookRounds) {
        return showError({ reason: 'stop_hook_prevented', detail: verdict.text });
      }
      const append = [{ kind: 'notice', notice: { kind: 'stop_hook', text: verdict.text } }] as const;
      return { do: 'go_round', transition: { reason: 'stop_hook_blocking', append } };
    }
  }
}

/**
 * Continues while the token budget is far from spent and the model makes progress (L31); otherwise
 * the run ends by itself (L32).
 */
function continueOrComplete(state: RunState, { tokenBudget: budget }: Rules): Move {
  const { spend, tokenBudget } = state;
  const used = spend.usage.output;
  if (budget === null || used >= ENOUGH_OF_BUDGET * budget) return endNaturally(state);
  const delta = used - tokenBudget.lastTotal;
  const idle = delta < SMALL_DELTA && tokenBudget.lastDelta < SMALL_DELTA;
  if (tokenBudget.continuations >= SMALL_DELTAS_AFTER && idle) return endNaturally(state);
  const append = [{ kind: 'notice', notice: { kind: 'token_budget', spent: used, budget } }] as const;
  return { do: 'go_round', transition: { reason: 'token_budget_continuation', append } };
}
