// A recoverable error is shown only here, when nothing can recover it any more (L17, L25, L28).
import type { Terminal } from '../contract/loop.ts';
import type { Move } from './events.ts';

export function showError(terminal: Terminal & { readonly detail: string }): Extract<Move, { do: 'end' }> {
  return { do: 'end', terminal, append: [{ kind: 'notice', notice: { kind: 'error', text: terminal.detail } }] };
}
