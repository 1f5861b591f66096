// What to do next: the recovery ladder of the loop. Pure: state and event in, move out. Each rung is a row in its tests.
import type { Append, ModelResult } from '../contract/activities.ts';
import type { Rules, StopCause } from '../contract/loop.ts';
import { afterTools } from './after-tools.ts';
import { cutOff, endOn, refusedCap } from './cut-off.ts';
import type { Event, ModelEnded, Move } from './events.ts';
import { finalReply, hooksRan } from './final-reply.ts';
import { budgetGone } from './limits.ts';
import { openCalls } from './open-calls.ts';
import { prepare } from './prepare.ts';
import { errorNotice, showError } from './show-error.ts';
import type { RunState } from './state.ts';
import { stopNotice, stopTerminal } from './stop.ts';
import { afterReactive, tooClose, tooLong } from './too-long.ts';
import { wrappedUp } from './wrap-up.ts';

export function decide(state: RunState, rules: Rules, event: Event): Move {
  switch (event.kind) {
    case 'ready':
      return prepare(state, rules);
    case 'stopped':
      return stopped(event.stop, rules, []);
    case 'tools_ran':
      return afterTools(state, rules, event);
    case 'model':
      return wrappedUp(state, rules, event) ?? afterModel(state, rules, event);
    case 'compacted':
      return afterCompaction(state, rules, event);
    case 'collapsed':
      return event.stop ? stopped(event.stop, rules, []) : prepare(state, rules);
    case 'hooks_ran':
      return event.stop ? stopped(event.stop, rules, []) : hooksRan(state, rules, event.ran);
  }
}

function afterModel(state: RunState, rules: Rules, ended: ModelEnded): Move {
  const { result, stop } = ended;
  const lower = stop || budgetGone(state, rules) ? null : refusedCap(state, rules, result);
  if (lower) return lower;
  switch (result.kind) {
    case 'message':
      return afterReply(state, rules, result);
    case 'cut_off':
      // A stop that came too late for the stream still stops the run; what was said is kept.
      return stop ? endOn(stopped(stop, rules, []), result, ended.summary) : cutOff(state, rules, result, ended);
    case 'interrupted':
      return stopped(stop ?? 'interrupt', rules, openCalls(result.calls, 'Not run: the reply was interrupted.'));
    case 'nothing':
      return stopped(stop ?? 'interrupt', rules, []);
    case 'parked':
      return { do: 'park', waitMs: result.waitMs };
    case 'too_long':
      return tooLong(state, rules, { reason: 'prompt_too_long', detail: result.detail });
    case 'media_too_large':
      return tooLong(state, rules, { reason: 'image_error', detail: result.detail });
    case 'fallback':
      return fallback(state, rules, result);
    case 'hook_stopped':
      return { do: 'end', terminal: { reason: 'hook_stopped', detail: result.detail }, append: [] };
    case 'refused':
      return showError({ reason: 'model_error', detail: result.detail });
    case 'failed': {
      const { detail, status } = result;
      if (stop) return stopped(stop, rules, [errorNotice(detail)]);
      const gone = budgetGone(state, rules);
      if (gone) return { ...gone, append: [errorNotice(detail)] };
      return showError({ reason: 'model_error', detail, ...(status === undefined ? {} : { status }) });
    }
  }
}

/** L15: complete tool_use blocks decide, not stop_reason. */
function afterReply(state: RunState, rules: Rules, reply: Extract<ModelResult, { kind: 'message' }>): Move {
  if (reply.calls.length === 0) return finalReply(state, rules, reply.problem);
  const gone = budgetGone(state, rules);
  if (gone) return { ...gone, append: openCalls(reply.calls, 'Not run: the budget of this run is spent.') };
  return { do: 'run_tools', calls: reply.calls, cut: reply.cut === true };
}

/** L19: the next model in the list; what the one before had begun is neither sent nor run. */
function fallback(state: RunState, rules: Rules, result: Extract<ModelResult, { kind: 'fallback' }>): Move {
  const { from, to, calls, detail } = result;
  if (state.modelPosition + 1 >= rules.models.length) return showError({ reason: 'model_error', detail });
  const append = [{ kind: 'notice', notice: { kind: 'model_switched', from, to, calls, detail } }] as const;
  return { do: 'go_round', transition: { reason: 'model_fallback', append } };
}

function afterCompaction(state: RunState, rules: Rules, event: Extract<Event, { kind: 'compacted' }>): Move {
  const { stop, result, move } = event;
  if (stop || result.kind === 'nothing') return stopped(stop ?? 'interrupt', rules, []);
  if (result.kind === 'parked') return { do: 'park', waitMs: result.waitMs };
  if (move.because) return afterReactive(state, rules, result, move.because);
  return tooClose(state, rules) ?? prepare(state, rules);
}

function stopped(stop: StopCause, rules: Rules, outcomes: readonly Append[]): Extract<Move, { do: 'end' }> {
  return {
    do: 'end',
    terminal: stopTerminal('aborted_streaming', stop, rules),
    append: [...outcomes, ...stopNotice(stop)],
  };
}
