// Which call a result on the screen belongs to. Calls run beside each other, and others speak or a person is asked in between: a
// result that does not come under its call names it again.
import type { LineEvent } from './event-line.ts';
import type { Paint } from './paint.ts';
import { callAgain } from './tool-lines.ts';

export type ShownCalls = {
  /** Of an event that takes a line: the one to go above it, or null. */
  above(event: LineEvent): string | null;
  /** Something else was written. */
  between(): void;
};

export function shownCalls(paint: Paint): ShownCalls {
  /** Of the last iteration that made any, by their blocks. */
  const calls = new Map<number, string>();
  let iteration = 0;
  let under: number | null = null;
  return {
    between: () => (under = null),
    above: (event) => {
      switch (event.type) {
        case 'tool_use':
          if (event.iteration !== iteration) calls.clear();
          iteration = event.iteration;
          under = event.index;
          calls.set(event.index, callAgain(paint, event.name, event.input));
          return null;
        case 'tool_end': {
          if (under === event.index) return null;
          under = event.index;
          return calls.get(event.index) ?? callAgain(paint, event.name, undefined);
        }
        case 'tool_progress':
          if (under !== event.index) under = null;
          return null;
        case 'hook_start':
        case 'hook_end':
          return null;
        default:
          if (event.type === 'run_start') calls.clear();
          under = null;
          return null;
      }
    },
  };
}
