// How a stop from outside ends a run (L47–L51).
import type { Append, Call } from '../contract/activities.ts';
import type { Rules, StopCause, Terminal } from '../contract/loop.ts';
import type { Move } from './events.ts';

export function stopTerminal(reason: 'aborted_streaming' | 'aborted_tools', stop: StopCause, rules: Rules): Terminal {
  return stop === 'timeout' ? { reason: 'timeout', limitMs: rules.timeoutMs ?? 0 } : { reason, by: stop };
}

/** A new user message speaks for itself; every other stop leaves a notice (L47). */
export function stopNotice(stop: StopCause): readonly Append[] {
  return stop === 'message' ? [] : [{ kind: 'notice', notice: { kind: 'interrupted' } }];
}

// How an error is told: a recoverable one only when nothing can recover it any more (L17, L25,
// L28).

export function showError(terminal: Terminal & { readonly detail: string }): Extract<Move, { do: 'end' }> {
  return { do: 'end', terminal, append: [errorNotice(terminal.detail)] };
}

export function errorNotice(text: string): Append {
  return { kind: 'notice', notice: { kind: 'error', text } };
}

// The outcomes of calls that will not run (L39).

export function openCalls(calls: readonly Call[], note: string): readonly Append[] {
  const items = calls.filter((call) => !call.outcome).map((call) => ({ index: call.index, note }));
  return items.length > 0 ? [{ kind: 'outcomes', items }] : [];
}
