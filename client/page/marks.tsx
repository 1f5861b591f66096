// Small marks that say in a word and a colour how something stands.
import type { TerminalReason } from '../../workflows/contract/loop.ts';
import { reasonText } from '../render/words.ts';
import { phaseText, type SessionInfo } from '../session-info.ts';

const phases: Readonly<Record<string, string>> = {
  running: 'busy',
  waiting: 'warn',
  parked: 'warn',
  idle: 'good',
  closed: 'quiet',
};

export function Phase({ session }: { readonly session: SessionInfo }) {
  const text = phaseText(session);
  // What was ended by force has a word of its own.
  return <span class={`mark ${phases[text.split(' ', 1)[0] ?? ''] ?? 'bad'}`}>{text}</span>;
}

export function Reason({ reason }: { readonly reason: TerminalReason | null }) {
  if (reason === null) return <span class="quiet">–</span>;
  const kind = reason === 'completed' ? 'good' : reason.startsWith('aborted') ? 'warn' : 'bad';
  return <span class={`mark ${kind}`}>{reasonText(reason)}</span>;
}
