// Small marks that say in a word and a colour how something stands.
import type { TerminalReason } from '../../workflows/contract/loop.ts';

const phases: Readonly<Record<string, string>> = { running: 'busy', parked: 'warn', idle: 'good', closed: 'quiet' };

export function Phase({ text }: { readonly text: string }) {
  return <span class={`mark ${phases[text] ?? 'bad'}`}>{text}</span>;
}

export function Reason({ reason }: { readonly reason: TerminalReason | null }) {
  if (reason === null) return <span class="quiet">–</span>;
  const kind = reason === 'completed' ? 'good' : reason.startsWith('aborted') ? 'warn' : 'bad';
  return <span class={`mark ${kind}`}>{reason}</span>;
}
