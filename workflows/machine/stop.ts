// How a stop from outside ends a run (L47–L51).
import type { Append } from '../contract/activities.ts';
import type { Rules, StopCause, Terminal } from '../contract/loop.ts';

export function stopTerminal(reason: 'aborted_streaming' | 'aborted_tools', stop: StopCause, rules: Rules): Terminal {
  return stop === 'timeout' ? { reason: 'timeout', limitMs: rules.timeoutMs ?? 0 } : { reason, by: stop };
}

/** A new user message speaks for itself; every other stop leaves a notice (L47). */
export function stopNotice(stop: StopCause): readonly Append[] {
  return stop === 'message' ? [] : [{ kind: 'notice', notice: { kind: 'interrupted' } }];
}
