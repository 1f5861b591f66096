// Ends a run: its last entries, its report to watchers, and what the session keeps of it.
import { patched } from '@temporalio/workflow';
import type { Append, RunEnded } from '../contract/activities.ts';
import type { Hash } from '../contract/ids.ts';
import type { RunSummary } from '../contract/session.ts';
import { isBadEnd } from '../contract/visibility.ts';
import { contextAfterRun } from '../machine/context.ts';
import type { LoopEnd } from '../machine/loop.ts';
import type { RunCarry } from '../session/session-state.ts';
import type { Session } from '../session/session.ts';
import { reportSeen, describePlace } from '../told/report-seen.ts';
import { commitEntries } from './commit-entries.ts';
import { present } from '../contract/present.ts';

/**
 * `config`: null where the run could not be opened. `ms`: milliseconds taken of the runtime limit,
 * if the run had one.
 */
type FinishedRun = Pick<RunCarry, 'messages' | 'startedAt'> & { readonly config: Hash | null; readonly ms?: number };

/**
 * Stores what no model call will carry, and says how the run ended (L39, L47). Nothing cancels
 * this.
 */
export async function finishRun(
  session: Session,
  { state, terminal, append }: LoopEnd,
  { messages, startedAt, config, ms = 0 }: FinishedRun,
): Promise<void> {
  session.finishRun();
  const at = Date.now();
  const { runs } = session.facts.now;
  const summary = { run: runs, terminal, turns: state.turn, iterations: state.iteration, messages };
  const { spend, agents } = state;
  const ended: RunEnded = { ...summary, spend, ...(agents && { agents }), durationMs: at - startedAt, at };
  const all: readonly Append[] = [...state.pending, ...session.steered.take(), ...append, { kind: 'run_ended', ended }];
  const head = await commitEntries(session, state.head, all);
  const last: RunSummary = { ...summary, head };
  const model = session.run?.models?.[state.modelPosition];
  const spent = { turns: state.turn, spend, ms, ...present({ model }) };
  const about = { ...describePlace(session, state.iteration), from: startedAt, to: at, turns: state.turn, spend };
  reportSeen({ ...about, kind: 'run_ended', reason: terminal.reason, bad: isBadEnd(terminal), model: model ?? null });
  session.alerts.alertFailedRun(ended, config);
  session.facts.endRun({ head, last, spent, context: contextAfterRun(state, patched) });
  session.endRun();
}
