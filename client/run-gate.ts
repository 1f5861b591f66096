// Passes the events of a follower's run on. The live channel may still hold the run before it: that is dropped.
import type { Watched } from '../activities/live/events.ts';
import type { Goal } from './follow-goal.ts';

export type RunGate = {
  /** What may be shown now that `event` has come. */
  pass(event: Watched): readonly Watched[];
  /** The run's start will not come any more: all that is not of an earlier run is of this one. */
  open(): readonly Watched[];
};

export function runGate({ from }: Pick<Goal, 'from'>): RunGate {
  let isOpen = false;
  let held: Watched[] = [];
  const open = (): readonly Watched[] => {
    const released = held;
    [isOpen, held] = [true, []];
    return released;
  };
  return {
    open,
    pass: (event) => {
      if (isOpen) return [event];
      if (event.type === 'run_end' && event.ended.run < from) {
        held = [];
        return [];
      }
      const begins = event.type === 'run_start' && event.run >= from;
      // What was held before a start belongs to a run whose end was lost.
      held = begins ? [event] : [...held, event];
      // A run that could not start has no `run_start`: all since the last run's end is its own.
      return begins || event.type === 'run_end' ? open() : [];
    },
  };
}
