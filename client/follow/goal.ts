// Decides which run a follower waits for, and whether the memo reports its end.
import type { MessageId } from '../../workflows/contract/ids.ts';
import type { RunSummary } from '../../workflows/contract/session.ts';
import type { SessionDescription } from '../sessions/info.ts';

export type Goal = {
  /**
   * The run that answers this message; null means the current run, or the last one when nothing
   * runs.
   */
  readonly message: MessageId | null;
  /** The first run of interest, from 1. */
  readonly from: number;
  /** True when run `from` has begun or is over: its start is in the live channel, or was lost. */
  readonly underWay: boolean;
  /** The run may not exist. */
  readonly orNone?: true;
};

export function goalOf(description: SessionDescription, message: MessageId | null): Goal {
  const last = description.last?.run ?? 0;
  const waits = isAtRest(description);
  if (message === null) return { message, from: waits && last > 0 ? last : last + 1, underWay: true };
  if (hasAnswered(description.last, message)) return { message, from: last, underWay: true };
  return { message, from: last + 1, underWay: !waits };
}

/** Aims at the first run after run `run`, if it exists. */
export function goalAfter(run: number): Goal {
  return { message: null, from: run + 1, underWay: true, orNone: true };
}

/** Tells whether the run that seemed about to begin does not exist. */
export function hasNoRun({ orNone, from }: Goal, description: SessionDescription): boolean {
  return (
    orNone === true && isAtRest(description) && agentsAtWork(description) === 0 && (description.last?.run ?? 0) < from
  );
}

/** Counts agents in the background of an idle session: the end of each opens a run (L71). */
export function agentsAtWork({ background = 0 }: SessionDescription): number {
  return background;
}

/** Tells whether nothing runs and nothing is about to. */
export function isAtRest({ phase, unseen }: SessionDescription): boolean {
  return phase === 'closed' || (phase === 'idle' && !unseen);
}

export function reachesGoal(goal: Goal, summary: Pick<RunSummary, 'run' | 'messages'>): boolean {
  return summary.run >= goal.from && (goal.message === null || summary.messages.includes(goal.message));
}

function hasAnswered(last: RunSummary | null, message: MessageId): boolean {
  return last?.messages.includes(message) ?? false;
}

/**
 * Result of a look at the session: the run to report, a hint that an earlier run may be it
 * (`search`), the certainty that it will never come (`never`), or nothing yet.
 */
type GoalState =
  | { readonly kind: 'ended'; readonly summary: RunSummary }
  | { readonly kind: 'search'; readonly summary: RunSummary }
  | { readonly kind: 'never' }
  | { readonly kind: 'not_yet' };

export function lookForGoal(goal: Goal, description: SessionDescription): GoalState {
  const { last } = description;
  if (last && reachesGoal(goal, last)) return { kind: 'ended', summary: last };
  if (last && goal.message !== null) {
    // The answer may be an earlier run, or one that lists only the first of its many messages.
    if (last.run > goal.from || isAtRest(description)) return { kind: 'search', summary: last };
  } else if (last && isAtRest(description) && !goal.orNone) {
    // The run that was about to begin does not exist.
    return { kind: 'ended', summary: last };
  }
  return description.phase === 'closed' ? { kind: 'never' } : { kind: 'not_yet' };
}
