// Tracks which call a result on the screen belongs to. Calls run in parallel and other output may
// come between, so a result that is not right below its call names it again.
import type { Paint } from '../../client/paint.ts';
import { callAgain } from '../../client/render/tool-lines.ts';
import type { LineEvent } from './event-line.ts';

export type ShownCalls = {
  /** Returns the line to print above an event that needs one, else null. */
  above(event: LineEvent): string | null;
  /** Must be called when something else was written. */
  between(): void;
};

export function trackCalls(paint: Paint): ShownCalls {
  /** Calls of the last iteration that made any, by their blocks. */
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
