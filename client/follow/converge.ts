// Keeps what a follower shows equal to the transcript: compared after each step that stored
// something, and whole at a run's end.
import type { Told, Watched } from '../../store/live/events.ts';
import { StoreError } from '../../store/values/store.ts';
import type { Hash, SessionId, MessageId } from '../../workflows/contract/ids.ts';
import { openLedger } from './ledger.ts';
import type { Mark, Since, TranscriptReader } from '../sessions/read.ts';
import type { Entry } from '../../store/log/entries.ts';
import { noUsage } from '../../workflows/contract/loop.ts';
import type { RunSummary } from '../../workflows/contract/session.ts';
import { type Goal, lookForGoal } from './goal.ts';
import { ClientProblem } from '../problem.ts';
import { type RunOutcome, terminalDetail } from '../sessions/outcome.ts';
import type { SessionDescription } from '../sessions/info.ts';

type Converging = {
  /** The events to show for it: itself, or the transcript's version where that differs. */
  pass(told: Told): Promise<readonly Watched[]>;
  /**
   * Run `run` has ended: what makes all that was shown of it, and of those before, the same as what
   * is stored under `head`.
   */
  end(head: Hash, run: number): Promise<readonly Watched[]>;
};

/**
 * `from`: the first run that is followed. `onHead`: told each head that a step has stored, once
 * `reader` has looked at it.
 */
export function createConverging(
  reader: Pick<TranscriptReader, 'since'>,
  session: SessionId,
  from: number,
  onHead: (head: Hash) => void = () => undefined,
): Converging {
  let first = from;
  let shown = openLedger(first);
  /** Where the next comparison begins: what is before it has been compared. */
  let next: Mark | undefined;

  const step = async (head: Hash): Promise<readonly Watched[]> => {
    const since = await readable(reader.since(session, head, first, next));
    next = (since && lastReply(since)) ?? next;
    onHead(head);
    return since ? shown.settle(since, false) : [];
  };
  const end: Converging['end'] = async (head, run) => {
    if (run < first) return [];
    const since = await readable(reader.since(session, head, first));
    const told = since ? shown.settle(upTo(since, run), true) : [];
    first = run + 1;
    shown = openLedger(first);
    next = undefined;
    return told;
  };
  return {
    end,
    pass: async (told) => {
      if (told.type === 'stored') return step(told.head);
      if (told.type === 'run_end') return [...(await end(told.head, told.ended.run)), told];
      shown.hear(told);
      return [told];
    },
  };
}

/** Null for what cannot be read: whoever reads the run's end says why. */
async function readable(reading: Promise<Since>): Promise<Since | null> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof StoreError) return null;
    throw error;
  }
}

/** The last reply: its calls may still get outcomes. */
function lastReply({ run: from, first, entries }: Since): Mark | null {
  const offset = entries.findLastIndex(({ kind }) => kind === 'reply');
  const entry = entries[offset];
  if (!entry) return null;
  const started = entries.slice(0, offset).findLast(({ kind }) => kind === 'run_started');
  return { run: started?.kind === 'run_started' ? started.run : from, position: first + offset, entry };
}

function upTo({ run: from, first, entries }: Since, run: number): Since {
  const end = entries.findIndex((entry) => entry.kind === 'run_ended' && entry.ended.run === run);
  return { run: from, first, entries: end < 0 ? entries : entries.slice(0, end + 1) };
}

// How the awaited run ended, as far as the memo tells: read from the store, for the live channel
// may have lost it.

type SeenEnd = {
  readonly outcome: RunOutcome;
  readonly run: number;
  /** Null: nothing of it could be stored. */
  readonly head: Hash | null;
};

/** Null: not yet. Throws ClientProblem `closed` when it will never end. */
export async function outcomeSeen(
  reader: TranscriptReader,
  goal: Goal,
  seen: SessionDescription,
): Promise<SeenEnd | null> {
  const sight = lookForGoal(goal, seen);
  switch (sight.kind) {
    case 'not_yet':
      return null;
    case 'never':
      throw neverEnds(goal, seen);
    case 'ended': {
      // Without a message it is the first run of interest, also when another has ended since.
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
): Promise<SeenEnd> {
  const { head } = summary;
  const outcome = head === null ? unstored(session, summary) : await reader.outcome(session, head, run);
  return { outcome, run, head };
}

/** Not even the run's start could be stored; the memo says how it ended. */
function unstored(session: SessionId, { run, terminal, turns, iterations }: RunSummary): RunOutcome {
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
