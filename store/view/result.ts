// Reads the result of a run from its entries alone, for the result of a query, for `show` and for
// the page.

import type { Terminal, TerminalReason, TransitionReason, Usage } from '../../workflows/contract/loop.ts';
import type { AgentSpending } from '../../workflows/contract/delegation.ts';
import type { MessageId } from '../../workflows/contract/ids.ts';
import type { Entry } from '../log/entries.ts';
import type { View } from './view.ts';
import { finalText } from './final-text.ts';

export type RunResult = {
  readonly run: number;
  readonly reason: TerminalReason;
  readonly terminal: Terminal;
  readonly turns: number;
  readonly iterations: number;
  /** All transitions, oldest first (L3). */
  readonly transitions: readonly { readonly iteration: number; readonly reason: TransitionReason }[];
  /** The last reply's text; the pieces of a reply that was cut and continued are joined (L27). */
  readonly text: string;
  readonly messages: readonly MessageId[];
  readonly usage: Usage;
  /** US dollars; null when a price is not known. */
  readonly costUsd: number | null;
  /**
   * The run's agents that have ended, with what each cost, which is in `usage` and `costUsd`;
   * absent without any (L69).
   */
  readonly agents?: readonly AgentSpending[];
  readonly durationMs: number;
};

/** Returns null when the run has not ended in this view, or is not in it. */
export function resultOf(view: Pick<View, 'entries'>, run: number): RunResult | null {
  const entries = entriesOf(view.entries, run);
  const last = entries.at(-1);
  if (last?.kind !== 'run_ended') return null;
  const { terminal, turns, iterations, messages, spend, agents, durationMs } = last.ended;
  return {
    run,
    reason: terminal.reason,
    terminal,
    turns,
    iterations,
    transitions: entries.flatMap((entry) =>
      entry.kind === 'transition' ? [{ iteration: entry.iteration, reason: entry.reason }] : [],
    ),
    text: finalText(entries),
    messages,
    usage: spend.usage,
    costUsd: spend.usd,
    ...(agents && { agents }),
    durationMs,
  };
}

/**
 * Returns the entries after the run before it, up to its own `run_ended`; empty when it has not
 * ended.
 */
function entriesOf(entries: readonly Entry[], run: number): readonly Entry[] {
  const end = entries.findLastIndex((entry) => entry.kind === 'run_ended' && entry.ended.run === run);
  const before = entries.slice(0, Math.max(0, end)).findLastIndex((entry) => entry.kind === 'run_ended');
  return entries.slice(before + 1, end + 1);
}
