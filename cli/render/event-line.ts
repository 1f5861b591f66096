// Formats the line that an event takes on the screen.
import type { LiveEvent, Paint } from '../../client/faces/types.ts';
import {
  SHOWN_OF_OUTCOME,
  isOrdinary,
  noticeText,
  transitionText,
  compactionText,
  describeStaged,
  shortenedText,
  searchLine,
  callLines,
  resultLines,
} from '../../client/faces/words.ts';
import { steeringText } from '../../client/faces/options.ts';
import { formatCount, shortTime } from '../../client/faces/basics.ts';
import { oneLine } from '../../client/faces/start.ts';

/** Events that stream are no lines. */
export type LineEvent = Exclude<LiveEvent, { readonly type: 'text_delta' | 'thinking_delta' }>;

/**
 * Returns null for an event without a line. `full` is the command that prints what a compaction
 * took out of view.
 */
export function eventLine(paint: Paint, event: LineEvent, full: string): string | null {
  switch (event.type) {
    case 'run_start':
      return paint.dim(`── run ${event.run} · ${oneLine(event.model, 80)} · ${oneLine(event.cwd, 200)}`);
    case 'user':
      return promptLine(paint, event.text);
    case 'tool_use':
      return callLines(paint, event.name, event.input).join('\n');
    case 'web_search':
      return paint.dim(`• ${searchLine(event.query)}`);
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
      return isOrdinary(event.reason) ? null : paint.dim(`── ${transitionText(event.reason)}`);
    case 'steered':
      return paint.dim(`• ${steeringText(event.steered)}`);
    case 'notice':
      return event.notice.kind === 'attachment'
        ? paint.dim(`• ${noticeText(event.notice)}`)
        : paint.yellow(`! ${noticeText(event.notice)}`);
    case 'reply':
      return event.fate === 'whole' ? null : paint.dim(`(the reply was ${event.fate})`);
    case 'compaction_start':
      return paint.dim(event.trigger === 'reactive' ? '⇣ too long: compacting' : '⇣ compacting');
    case 'compaction_end':
      return paint.yellow(`⇣ ${compactionText(event, full)}`);
    case 'collapse_staged':
      return paint.dim(`⇣ ${describeStaged(event)}`);
    case 'microcompact':
    case 'collapse_committed':
    case 'snip':
      return paint.dim(`⇣ ${shortenedText(event, full)}`);
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

function promptLine(paint: Paint, text: string): string {
  const { first, more } = shortPrompt(text);
  return `${paint.bold('›')} ${first}${more === '' ? '' : ` ${paint.dim(more)}`}`;
}

/** Returns the first line of a prompt, and words that say how many more there are. */
export function shortPrompt(text: string): { readonly first: string; readonly more: string } {
  const [first = '', ...rest] = text.trim().split('\n');
  const left = rest.filter((line) => line.trim() !== '').length;
  return { first: oneLine(first, 400), more: left === 0 ? '' : `[${formatCount(left, 'more line')}]` };
}
