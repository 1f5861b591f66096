// Finds how the awaited run ended: the memo says that it did, and the store has the outcome, which
// the live channel may have lost.
import type { Hash, SessionId, MessageId } from '../../workflows/contract/ids.ts';
import type { TranscriptReader } from '../sessions/transcript-reader.ts';
import type { Entry } from '../../store/log/entries.ts';
import { noUsage } from '../../workflows/contract/loop.ts';
import type { RunSummary } from '../../workflows/contract/session.ts';
import { type Goal, lookForGoal } from './goal.ts';
import { ClientProblem } from '../problem.ts';
import { type RunOutcome, terminalDetail } from '../sessions/outcome.ts';
import type { SessionDescription } from '../sessions/info.ts';

type RunEnd = {
  readonly outcome: RunOutcome;
  readonly run: number;
  /** Null when nothing of it could be stored. */
  readonly head: Hash | null;
};

/**
 * Returns null when the run has not ended. Throws ClientProblem `closed` when it will never end.
 */
export async function findOutcome(
  reader: TranscriptReader,
  goal: Goal,
  seen: SessionDescription,
): Promise<RunEnd | null> {
  const sight = lookForGoal(goal, seen);
  switch (sight.kind) {
    case 'not_yet':
      return null;
    case 'never':
      throw neverEnds(goal, seen);
    case 'ended': {
      // Without a message the goal is the first run of interest, even if another has ended since.
      const { run } = sight.summary;
      return outcomeOf(reader, seen.session, sight.summary, goal.message === null ? Math.min(run, goal.from) : run);
    }
    case 'search': {
      const run = runAnswering(await reader.entries(seen.session, sight.summary.head), goal.message);
      if (run !== null) return outcomeOf(reader, seen.session, sight.summary, run);
      if (seen.phase === 'closed') throw neverEnds(goal, seen);
      return null;
    }
  }
}

function runAnswering(entries: readonly Entry[], message: MessageId | null): number | null {
  let taken = false;
  for (const entry of entries) {
    if (entry.kind === 'user') taken ||= entry.id === message;
    if (entry.kind !== 'run_ended') continue;
    // A compaction that was asked for leaves no message in the transcript.
    if (taken || (message !== null && entry.ended.messages.includes(message))) return entry.ended.run;
  }
  return null;
}

async function outcomeOf(
  reader: TranscriptReader,
  session: SessionId,
  summary: RunSummary,
  run: number,
): Promise<RunEnd> {
  const { head } = summary;
  const outcome = head === null ? outcomeFromMemo(session, summary) : await reader.outcome(session, head, run);
  return { outcome, run, head };
}

/** Makes an outcome from the memo when not even the run's start could be stored. */
function outcomeFromMemo(session: SessionId, { run, terminal, turns, iterations }: RunSummary): RunOutcome {
  const detail = terminalDetail(terminal);
  const nothing = { transitions: [], text: '', usage: noUsage, costUsd: null, durationMs: 0 };
  const said = detail === undefined ? {} : { detail };
  return { type: 'result', sessionId: session, run, reason: terminal.reason, turns, iterations, ...nothing, ...said };
}

function neverEnds({ message }: Goal, { session, status }: SessionDescription): ClientProblem {
  const how = status === 'open' ? 'closed' : status.replace('_', ' ');
  const what = message === null ? 'before a run of it ended' : 'and never took the message';
  const sentence = `session ${session} was ${how} ${what}: \`perdure show ${session}\` has what there is`;
  return new ClientProblem('closed', sentence);
}
