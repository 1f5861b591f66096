// Which run a follower waits for, and whether what the memo says is its end.
import type { MessageId } from '../workflows/contract/ids.ts';
import type { RunSummary } from '../workflows/contract/session.ts';
import type { SessionDescription } from './session-info.ts';

export type Goal = {
  /** The run that answers this message; null: whatever runs now, or the last run when nothing does. */
  readonly message: MessageId | null;
  /** The first run of interest, from 1. */
  readonly from: number;
  /** Run `from` has begun, or is over: its start is in the live channel, or was lost. */
  readonly underWay: boolean;
  /** There may be no such run. */
  readonly orNone?: true;
};

export function goalOf(seen: SessionDescription, message: MessageId | null): Goal {
  const last = seen.last?.run ?? 0;
  const waits = isAtRest(seen);
  if (message === null) return { message, from: waits && last > 0 ? last : last + 1, underWay: true };
  if (answers(seen.last, message)) return { message, from: last, underWay: true };
  return { message, from: last + 1, underWay: !waits };
}

/** The first run after run `run`, if there is one. */
export function goalAfter(run: number): Goal {
  return { message: null, from: run + 1, underWay: true, orNone: true };
}

/** What seemed about to begin was no run. */
export function isNone({ orNone, from }: Goal, seen: SessionDescription): boolean {
  return orNone === true && isAtRest(seen) && (seen.last?.run ?? 0) < from;
}

/** Nothing runs and nothing is about to. */
export function isAtRest({ phase, unseen }: SessionDescription): boolean {
  return phase === 'closed' || (phase === 'idle' && !unseen);
}

export function reaches(goal: Goal, ended: Pick<RunSummary, 'run' | 'messages'>): boolean {
  return ended.run >= goal.from && (goal.message === null || ended.messages.includes(goal.message));
}

function answers(last: RunSummary | null, message: MessageId): boolean {
  return last?.messages.includes(message) ?? false;
}

/**
 * What a look at the session means: the run to report, that an earlier one may be it (`search`), that it will never come
 * (`never`), or nothing yet.
 */
export type Sighting =
  | { readonly kind: 'ended'; readonly summary: RunSummary }
  | { readonly kind: 'search'; readonly summary: RunSummary }
  | { readonly kind: 'never' }
  | { readonly kind: 'not_yet' };

export function sighting(goal: Goal, seen: SessionDescription): Sighting {
  const { last } = seen;
  if (last && reaches(goal, last)) return { kind: 'ended', summary: last };
  if (last && goal.message !== null) {
    // An earlier run may have answered it, or one that lists only the first of its many messages.
    if (last.run > goal.from || isAtRest(seen)) return { kind: 'search', summary: last };
  } else if (last && isAtRest(seen)) {
    // What was about to happen turned out to be no run.
    return { kind: 'ended', summary: last };
  }
  return seen.phase === 'closed' ? { kind: 'never' } : { kind: 'not_yet' };
}
