// The line that an event takes on the screen, for events that take one.
import type { Watched } from '../../store/live/events.ts';
import { SHOWN_OF_OUTCOME } from '../../store/live/retell.ts';
import { compactionText, describeStaged, noticeText, transitionText } from '../../client/render/words.ts';
import { type Paint, oneLine } from '../../client/paint.ts';
import { steeredText } from '../../client/render/steered-words.ts';
import { callLines, resultLines, callAgain } from '../../client/render/tool-lines.ts';
import { shortTime } from '../../client/units.ts';

/** Those that stream, or take back, are not lines. */
export type LineEvent = Exclude<
  Watched,
  { readonly type: 'text_delta' } | { readonly type: 'thinking_delta' } | { readonly type: 'tombstone' }
>;

/**
 * Null: nothing to show for it. `full`: the command that prints what a compaction took out of view.
 */
export function eventLine(paint: Paint, event: LineEvent, full: string): string | null {
  switch (event.type) {
    case 'run_start':
      return paint.dim(`── run ${event.run} · ${oneLine(event.model, 80)} · ${oneLine(event.cwd, 200)}`);
    case 'user':
      return `${paint.bold('›')} ${oneLine(event.text, 400)}`;
    case 'tool_use':
      return callLines(paint, event.name, event.input).join('\n');
    case 'tool_end':
      return resultLines(paint, {
        ...event,
        durationMs: event.untimed === true ? null : event.durationMs,
        cut: event.content.length >= SHOWN_OF_OUTCOME,
      });
    case 'tool_progress':
      return paint.dim(`  … ${oneLine(event.text, 140)}`);
    case 'retry': {
      const { failures, delayMs, error } = event;
      return paint.yellow(`↻ failed ${failures}×, again in ${shortTime(delayMs)}: ${oneLine(error, 300)}`);
    }
    case 'transition':
      return paint.dim(`── ${transitionText(event.reason)}`);
    case 'steered':
      return paint.dim(`• ${steeredText(event.steered)}`);
    case 'notice':
      return paint.yellow(`! ${noticeText(event.notice)}`);
    case 'reply':
      return event.fate === 'whole' ? null : paint.dim(`(the reply was ${event.fate})`);
    case 'compaction_start':
      return paint.dim(event.trigger === 'auto' ? '⇣ compacting' : '⇣ too long: compacting');
    case 'compaction_end':
      return paint.yellow(`⇣ ${compactionText(event, full)}`);
    case 'collapse_staged':
      return paint.dim(`⇣ ${describeStaged(event)}`);
    case 'hook_start':
      return paint.dim(`  … hook ${oneLine(event.hook, 80)}`);
    case 'hook_end':
      return paint.dim(`  … hook ${oneLine(event.hook, 80)}: ${oneLine(event.result, 140)}`);
    case 'request_start':
    case 'tool_start':
    case 'run_end':
      return null;
  }
}

// Which call a result on the screen belongs to. Calls run beside each other, and others speak or a
// person is asked in between: a result that does not come under its call names it again.

export type ShownCalls = {
  /** The line to go above an event that takes one, or null. */
  above(event: LineEvent): string | null;
  /** Something else was written. */
  between(): void;
};

export function shownCalls(paint: Paint): ShownCalls {
  /** The calls of the last iteration that made any, by their blocks. */
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
