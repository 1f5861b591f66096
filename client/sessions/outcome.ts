// The outcome of a run, as the last event of a followed session and the last line of `--json`.
import type { AgentSpent } from '../../workflows/contract/delegation.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import type { Terminal, TerminalReason, TransitionReason, Usage } from '../../workflows/contract/loop.ts';
import { outputOf, type RunOutput } from '../../store/view/output.ts';
import type { RunResult } from '../../store/view/result.ts';
import { formatTokens } from '../units.ts';
import { createConfigReader } from '../../store/configuration.ts';
import type { Entry } from '../../store/log/entries.ts';
import type { Store } from '../../store/values/store.ts';

export type RunOutcome = {
  readonly type: 'result';
  readonly sessionId: SessionId;
  /** Its number in the session, from 1. */
  readonly run: number;
  readonly reason: TerminalReason;
  readonly turns: number;
  readonly iterations: number;
  readonly transitions: readonly { readonly iteration: number; readonly reason: TransitionReason }[];
  /** The last reply's text; pieces of a recovered one joined (L27). */
  readonly text: string;
  readonly usage: Usage;
  /** US dollars; null when a price is not known. */
  readonly costUsd: number | null;
  /**
   * Its agents that have ended, with what each took, which is in `usage` and `costUsd`; absent
   * without any (L69).
   */
  readonly agents?: readonly AgentSpent[];
  readonly durationMs: number;
  /** The details of the terminal reason, for people. */
  readonly detail?: string;
  /** The final answer's value, when the run had an output schema and completed (L53). */
  readonly output?: unknown;
};

export function runOutcome(session: SessionId, result: RunResult, output: RunOutput = {}): RunOutcome {
  const { run, reason, terminal, turns, iterations, transitions, text, usage, costUsd, agents, durationMs } = result;
  const detail = terminalDetail(terminal);
  return {
    type: 'result',
    sessionId: session,
    run,
    reason,
    turns,
    iterations,
    transitions,
    text,
    usage,
    costUsd: costUsd === null ? null : rounded(costUsd),
    ...(agents && { agents }),
    durationMs,
    ...(detail === undefined ? {} : { detail }),
    ...output,
  };
}

/** Sums of prices are off by less than anybody pays: to a hundred-millionth of a dollar. */
function rounded(usd: number): number {
  return Math.round(usd * 1e8) / 1e8;
}

const stoppers = {
  interrupt: 'interrupted',
  message: 'stopped for a newer message',
  cancel: 'the session was cancelled',
  timeout: 'stopped by the time limit',
} as const;

/** A sentence for people; undefined when the reason says it all. */
export function terminalDetail(terminal: Terminal): string | undefined {
  switch (terminal.reason) {
    case 'completed':
      return undefined;
    case 'max_turns':
      return `the limit is ${terminal.limit}, turn ${terminal.turnNotTaken} was not taken`;
    case 'aborted_streaming':
    case 'aborted_tools':
      return stoppers[terminal.by];
    case 'budget_exceeded':
      return 'limitUsd' in terminal
        ? `$${terminal.spentUsd.toFixed(4)} spent${held(terminal.reservedUsd, (usd) => `$${usd.toFixed(4)}`)}, the limit is $${terminal.limitUsd}`
        : `${formatTokens(terminal.spentTokens)} spent${held(terminal.reservedTokens, formatTokens)}, the limit is ${terminal.limitTokens.toLocaleString('en')}`;
    case 'timeout':
      return `the limit is ${terminal.limitMs / 1000} s`;
    default:
      return terminal.detail;
  }
}

/** A person stopped it, here or from elsewhere. */
export function wasInterrupted({ reason, detail }: RunOutcome): boolean {
  return (reason === 'aborted_streaming' || reason === 'aborted_tools') && detail === stoppers.interrupt;
}

type OutputReader = (entries: readonly Entry[], result: RunResult) => Promise<RunOutput>;

/** Reads the value that a run with an output schema came to (L53). */
export function outputReader(store: Store): OutputReader {
  const read = createConfigReader(store);
  return (entries, result) => outputOf(read, entries, result);
}

/** What is not spent and cannot be, for agents in the background may still spend it (L71). */
function held(amount: number | undefined, format: (amount: number) => string): string {
  return amount === undefined ? '' : ` and ${format(amount)} kept for agents that have not reported their end`;
}
