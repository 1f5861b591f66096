// How an error is told: a recoverable one only when nothing can recover it any more (L17, L25, L28).
import type { Append } from '../contract/activities.ts';
import type { Terminal } from '../contract/loop.ts';
import type { Move } from './events.ts';

export function showError(terminal: Terminal & { readonly detail: string }): Extract<Move, { do: 'end' }> {
  return { do: 'end', terminal, append: [errorNotice(terminal.detail)] };
}

export function errorNotice(text: string): Append {
  return { kind: 'notice', notice: { kind: 'error', text } };
}
