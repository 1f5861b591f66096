// Passes the events of a follower's run on. The live channel may still hold the run before it: that is dropped. It may already hold the
// run after it, and have lost its end, for what an older run has said is forgotten when the next one opens: that is held back.
import type { Told } from '../activities/live/events.ts';
import type { Goal } from './follow-goal.ts';

export type RunGate = {
  /** What may be shown now that `event` has come. */
  pass(event: Told): readonly Told[];
  /** The run's start will not come any more: all that is not of an earlier run is of this one. */
  open(): readonly Told[];
  /** The session says that run `last` has ended, and that following goes on: what comes after it may be shown. */
  goOn(last: number): readonly Told[];
  /** What is held comes after the run of this number, whose end was lost. */
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
      // What was held before a start belongs to a run whose end was lost.
      held = begins ? [event] : [...held, event];
      if (event.type === 'run_end') ended = Math.max(ended, event.ended.run);
      // A run that could not start has no `run_start`: all since the last run's end is its own.
      return begins || event.type === 'run_end' ? open() : [];
    },
  };
}
