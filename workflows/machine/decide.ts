// What to do next. Pure: the state (with the event absorbed), the run's rules and the event are all it knows.
import type { Append, ModelResult } from '../contract/activities.ts';
import type { Rules, StopCause, Terminal } from '../contract/loop.ts';
import { afterTools } from './after-tools.ts';
import { cutOff } from './cut-off.ts';
import type { Event, Move } from './events.ts';
import { budgetGone } from './limits.ts';
import type { RunState } from './state.ts';
import { stopNotice, stopTerminal } from './stop.ts';

export function decide(state: RunState, rules: Rules, event: Event): Move {
  switch (event.kind) {
    case 'ready':
      return budgetGone(state, rules) ?? { do: 'call_model' };
    case 'stopped':
      return stopped(event.stop, rules, []);
    case 'tools_ran':
      return afterTools(state, rules, event);
    case 'model':
      return afterModel(state, rules, event);
  }
}

function afterModel(state: RunState, rules: Rules, event: Extract<Event, { kind: 'model' }>): Move {
  const { result, stop } = event;
  switch (result.kind) {
    case 'message':
      return afterReply(state, rules, result);
    case 'cut_off':
      // A stop that came too late for the stream still stops the run; what was said is kept.
      return stop ? { ...stopped(stop, rules, []), keep: result.head } : cutOff(state, rules, result, event.step);
    case 'interrupted':
      return stopped(stop ?? 'interrupt', rules, openCalls(result.calls, 'Not run: the reply was interrupted.'));
    case 'nothing':
      return stopped(stop ?? 'interrupt', rules, []);
    case 'parked':
      return { do: 'park', until: result.until };
    case 'too_long':
      return showError({ reason: 'prompt_too_long', detail: result.detail });
    case 'media_too_large':
      return showError({ reason: 'image_error', detail: result.detail });
    case 'refused':
      return showError({ reason: 'model_error', detail: result.detail });
    case 'failed':
      return showError({
        reason: 'model_error',
        detail: result.detail,
        ...(result.status === undefined ? {} : { status: result.status }),
      });
  }
}

/** L15: complete tool_use blocks decide, not stop_reason. */
function afterReply(state: RunState, rules: Rules, reply: Extract<ModelResult, { kind: 'message' }>): Move {
  if (reply.calls.length === 0) return { do: 'end', terminal: { reason: 'completed' }, append: [] };
  const gone = budgetGone(state, rules);
  if (gone) return { ...gone, append: openCalls(reply.calls, 'Not run: the budget of this run is spent.') };
  return { do: 'run_tools', calls: reply.calls, cut: reply.cut === true };
}

function stopped(stop: StopCause, rules: Rules, outcomes: readonly Append[]): Extract<Move, { do: 'end' }> {
  return {
    do: 'end',
    terminal: stopTerminal('aborted_streaming', stop, rules),
    append: [...outcomes, ...stopNotice(stop)],
  };
}

/** A recoverable error is shown only here, when nothing can recover it any more (L17, L25, L28). */
function showError(terminal: Terminal & { readonly detail: string }): Move {
  return { do: 'end', terminal, append: [{ kind: 'notice', notice: { kind: 'error', text: terminal.detail } }] };
}

function openCalls(calls: Extract<ModelResult, { kind: 'message' }>['calls'], note: string): readonly Append[] {
  const items = calls.filter((call) => !call.outcome).map((call) => ({ index: call.index, note }));
  return items.length > 0 ? [{ kind: 'outcomes', items }] : [];
}
