// The ends of a run: by a stop from outside (L47–L51), or by an error.
import type { Append, Call } from '../contract/activities.ts';
import { notRunItem } from '../contract/calls.ts';
import type { Rules, StopCause, Terminal } from '../contract/loop.ts';
import type { Move } from './events.ts';

export function stopTerminal(reason: 'aborted_streaming' | 'aborted_tools', stop: StopCause, rules: Rules): Terminal {
  return stop === 'timeout' ? { reason: 'timeout', limitMs: rules.timeoutMs ?? 0 } : { reason, by: stop };
}

/** A new user message speaks for itself; every other stop leaves a notice (L47). */
export function stopNotice(stop: StopCause): readonly Append[] {
  return stop === 'message' ? [] : [{ kind: 'notice', notice: { kind: 'interrupted' } }];
}

/** Shows an error. A recoverable one is shown only once nothing can recover it (L17, L25, L28). */
export function showError(terminal: Terminal & { readonly detail: string }): Extract<Move, { do: 'end' }> {
  return { do: 'end', terminal, append: [errorNotice(terminal.detail)] };
}

export function errorNotice(text: string): Append {
  return { kind: 'notice', notice: { kind: 'error', text } };
}

/** Returns the outcomes of open calls that will not run (L39). */
export function notRunOutcomes(calls: readonly Call[], note: string): readonly Append[] {
  const items = calls.filter((call) => !call.outcome).map((call) => notRunItem(call, note));
  return items.length > 0 ? [{ kind: 'outcomes', items }] : [];
}
