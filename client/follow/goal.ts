// Which run a follower waits for, and whether what the memo says is its end.
import type { MessageId } from '../../workflows/contract/ids.ts';
import type { RunSummary } from '../../workflows/contract/session.ts';
import type { SessionDescription } from '../sessions/info.ts';
import type { Told } from '../../store/live/events.ts';

export type Goal = {
  /**
   * The run that answers this message; null: whatever runs now, or the last run when nothing does.
   */
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

/** The run that seemed about to begin does not exist. */
export function isNone({ orNone, from }: Goal, seen: SessionDescription): boolean {
  return orNone === true && isAtRest(seen) && agentsAtWork(seen) === 0 && (seen.last?.run ?? 0) < from;
}

/** In the background of a session that is idle: the end of each opens a run (L71). */
export function agentsAtWork({ background = 0 }: SessionDescription): number {
  return background;
}

/** Nothing runs and nothing is about to. */
export function isAtRest({ phase, unseen }: SessionDescription): boolean {
  return phase === 'closed' || (phase === 'idle' && !unseen);
}

export function reachesGoal(goal: Goal, ended: Pick<RunSummary, 'run' | 'messages'>): boolean {
  return ended.run >= goal.from && (goal.message === null || ended.messages.includes(goal.message));
}

function answers(last: RunSummary | null, message: MessageId): boolean {
  return last?.messages.includes(message) ?? false;
}

/**
 * The meaning of a look at the session: the run to report, that an earlier one may be it
 * (`search`), that it will never come (`never`), or nothing yet.
 */
type Sighting =
  | { readonly kind: 'ended'; readonly summary: RunSummary }
  | { readonly kind: 'search'; readonly summary: RunSummary }
  | { readonly kind: 'never' }
  | { readonly kind: 'not_yet' };

export function lookForGoal(goal: Goal, seen: SessionDescription): Sighting {
  const { last } = seen;
  if (last && reachesGoal(goal, last)) return { kind: 'ended', summary: last };
  if (last && goal.message !== null) {
    // An earlier run may have answered it, or one that lists only the first of its many messages.
    if (last.run > goal.from || isAtRest(seen)) return { kind: 'search', summary: last };
  } else if (last && isAtRest(seen) && !goal.orNone) {
    // The run that was about to begin does not exist.
    return { kind: 'ended', summary: last };
  }
  return seen.phase === 'closed' ? { kind: 'never' } : { kind: 'not_yet' };
}

// Passes the events of a follower's run on. The live channel may still hold the run before it: that
// is dropped. It may already hold the run after it, and have lost its end, for what an older run
// has said is forgotten when the next one opens: that is held back.

type RunGate = {
  /** Returns the events that may be shown now that `event` has come. */
  pass(event: Told): readonly Told[];
  /** The run's start will not come any more: all that is not of an earlier run is of this one. */
  open(): readonly Told[];
  /**
   * The session says that run `last` has ended, and that following goes on: what comes after it may
   * be shown.
   */
  goOn(last: number): readonly Told[];
  /** The events that are held come after the run of this number, whose end was lost. */
  readonly after: number | null;
};

export function runGate({ from }: Pick<Goal, 'from'>): RunGate {
  let isOpen = false;
  let held: Told[] = [];
  /** The last run of which the end is known. */
  let ended = from - 1;
  let after: number | null = null;
  const open = (): readonly Told[] => {
    const released = held;
    [isOpen, held, after] = [true, [], null];
    return released;
  };
  const goOn = (last: number): readonly Told[] => {
    ended = Math.max(ended, last);
    return after === null || after > ended ? [] : open();
  };
  return {
    get after() {
      return after;
    },
    open: () => (after === null ? open() : []),
    goOn,
    pass: (event) => {
      const begins = event.type === 'run_start' && event.run >= from;
      if (begins && event.run > ended + 1) after = event.run - 1;
      else if (after === null && isOpen) {
        if (event.type === 'run_end') ended = Math.max(ended, event.ended.run);
        return [event];
      }
      if (after !== null) return (held.push(event), []);
      if (event.type === 'run_end' && event.ended.run < from) {
        held = [];
        return [];
      }
      // Events that were held before a start belong to a run whose end was lost.
      held = begins ? [event] : [...held, event];
      if (event.type === 'run_end') ended = Math.max(ended, event.ended.run);
      // A run that could not start has no `run_start`: all since the last run's end is its own.
      return begins || event.type === 'run_end' ? open() : [];
    },
  };
}
