// The outcome of a run: the last event of a followed session and the last line of `--json`.
import type { FieldsOf, resultShape } from '../../store/live/event-shapes.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import type { Terminal } from '../../workflows/contract/loop.ts';
import { outputOf, type RunOutput, type RunResult } from '../../store/view/result.ts';
import { formatCount, formatTokens } from '../units.ts';
import { createConfigReader } from '../../store/configuration.ts';
import type { Entry } from '../../store/log/entries.ts';
import type { Store } from '../../store/values/store.ts';
import { present } from '../../workflows/contract/present.ts';

export type RunOutcome = FieldsOf<typeof resultShape>;

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
    costUsd: costUsd === null ? null : roundUsd(costUsd),
    ...present({ agents }),
    durationMs,
    ...present({ detail }),
    ...output,
  };
}

/** Rounds to a hundred-millionth of a dollar, finer than any bill, to hide floating-point error. */
export function roundUsd(usd: number): number {
  return Math.round(usd * 1e8) / 1e8;
}

const stoppers = {
  interrupt: 'interrupted',
  message: 'stopped for a newer message',
  cancel: 'the session was cancelled',
  timeout: 'stopped by the time limit',
} as const;

/** Describes the end in a sentence for people; undefined when the reason says it all. */
export function terminalDetail(terminal: Terminal): string | undefined {
  switch (terminal.reason) {
    case 'completed':
      return undefined;
    case 'max_turns':
      return formatCount(terminal.limit, 'turn');
    case 'aborted_streaming':
    case 'aborted_tools':
      return stoppers[terminal.by];
    case 'budget_exceeded':
      return 'limitUsd' in terminal
        ? `$${terminal.spentUsd.toFixed(4)} spent${reservationText(terminal.reservedUsd, (usd) => `$${usd.toFixed(4)}`)}, the limit is $${terminal.limitUsd}`
        : `${formatTokens(terminal.spentTokens)} spent${reservationText(terminal.reservedTokens, formatTokens)}, the limit is ${terminal.limitTokens.toLocaleString('en')}`;
    case 'timeout':
      return `the limit is ${terminal.limitMs / 1000} s`;
    default:
      return terminal.detail;
  }
}

/**
 * Says for people what stopped a run; undefined where nothing did, or where a foreign workflow says
 * what this one cannot know.
 */
export function stopText(terminal: Terminal): string | undefined {
  return 'by' in terminal && Object.hasOwn(stoppers, terminal.by) ? stoppers[terminal.by] : undefined;
}

/** Tells whether a person stopped the run, here or from elsewhere. */
export function wasInterrupted({ reason, detail }: RunOutcome): boolean {
  return (reason === 'aborted_streaming' || reason === 'aborted_tools') && detail === stoppers.interrupt;
}

type OutputReader = (entries: readonly Entry[], result: RunResult) => Promise<RunOutput>;

/** Reads the value that a run with an output schema produced (L53). */
export function outputReader(store: Store): OutputReader {
  const read = createConfigReader(store);
  return (entries, result) => outputOf(read, entries, result);
}

/** Mentions money held back for agents in the background, which may still spend it (L71). */
function reservationText(amount: number | undefined, format: (amount: number) => string): string {
  return amount === undefined ? '' : ` and ${format(amount)} kept for agents that have not reported their end`;
}
