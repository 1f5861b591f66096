// Lets through the events of a follower's run. The live channel may still hold the run before it,
// which is dropped. It may already hold the run after it and have lost this run's end, since the
// channel forgets a run when the next one opens; that run is held back.
import type { ChannelItem } from '../../store/live/events.ts';
import type { Goal } from './goal.ts';

type RunGate = {
  /** Returns the events that may be shown now that `event` has come. */
  pass(event: ChannelItem): readonly ChannelItem[];
  /** The run's start is lost: every event outside earlier runs belongs to this one. */
  open(): readonly ChannelItem[];
  /** The session reports the end of run `last` and following goes on: later events may be shown. */
  goOn(last: number): readonly ChannelItem[];
  /** Number of the run before the held events, whose end was lost; null otherwise. */
  readonly after: number | null;
};

export function runGate({ from }: Pick<Goal, 'from'>): RunGate {
  let isOpen = false;
  let held: ChannelItem[] = [];
  /** The last run whose end is known. */
  let ended = from - 1;
  let after: number | null = null;
  const open = (): readonly ChannelItem[] => {
    const released = held;
    [isOpen, held, after] = [true, [], null];
    return released;
  };
  const goOn = (last: number): readonly ChannelItem[] => {
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
      if (begins) held = [];
      held.push(event);
      if (event.type === 'run_end') ended = Math.max(ended, event.ended.run);
      // A run that could not start has no `run_start`: everything since the last run's end is its
      // own.
      return begins || event.type === 'run_end' ? open() : [];
    },
  };
}
