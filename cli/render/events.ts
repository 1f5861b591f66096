// Renders a followed session as it goes: text streams, everything else takes a line. Void output is
// said to be void and is not repeated (L16).
import type { WatchedEvent } from '../../store/live/events.ts';
import type { MessageId, SessionId } from '../../workflows/contract/ids.ts';
import type { Followed } from '../../client/follow/cursor.ts';
import type { RunOutcome } from '../../client/sessions/outcome.ts';
import { approvalText } from '../../client/render/approval-text.ts';
import { fullCommand } from '../../client/render/context-words.ts';
import { errorOf, unlessSaid, outcomeText } from '../../client/render/ending-words.ts';
import { eventLine, type LineEvent } from './event-line.ts';
import { type ShownCalls, trackCalls } from './shown-calls.ts';
import { linePen, type Pen, type TerminalPen, terminalPen } from '../terminal/pens.ts';
import { type Paint, oneLine } from '../../client/paint.ts';
import { showUnseen } from '../../system/text.ts';
import { type ShownAttempts, trackAttempts } from './shown-attempts.ts';
import { suppressRepeats } from './suppress-repeats.ts';

type Screen = {
  readonly write: (text: string) => void;
  readonly paint: Paint;
  /** Message that this person has just given, which need not be shown again. */
  readonly own: MessageId | null;
  readonly session: SessionId;
  /**
   * A terminal to draw on, with rendered replies and lines wrapped between words. Absent: text as
   * it comes.
   */
  readonly terminal?: TerminalPen | null;
};

type Of<Type extends WatchedEvent['type']> = Extract<WatchedEvent, { readonly type: Type }>;

type Sheet = Pick<Screen, 'paint'> & {
  readonly pen: Pen;
  readonly shown: ShownAttempts;
  readonly calls: ShownCalls;
  /** The step whose thinking is being shown. */
  thinking: number | null;
  /** Text of the last error notice, until the run goes on. */
  error: string | null;
};

export function eventRenderer({ write, paint, own, session, terminal }: Screen): (event: Followed) => void {
  const pen = terminal ? terminalPen(paint, terminal) : linePen(paint, write);
  const [shown, calls] = [trackAttempts(), trackCalls(paint)];
  const sheet: Sheet = { paint, pen, shown, calls, thinking: null, error: null };
  const again = suppressRepeats();
  const full = fullCommand(session);
  return (event) => {
    if ('step' in event && again(event)) return;
    switch (event.type) {
      case 'text_delta':
        return writeText(sheet, event);
      case 'thinking_delta':
        return writeThinking(sheet, event);
      case 'tombstone':
        return takeBack(sheet, event);
      case 'approval':
      case 'question':
        return writeLine(sheet, approvalText(paint, event));
      case 'approval_settled':
        return;
      case 'result':
        return writeResult(sheet, event);
      default: {
        if (event.type.startsWith('tool_')) sheet.shown.add(event);
        if (event.type !== 'user' || event.id !== own) writeEvent(sheet, event, full);
      }
    }
  };
}

function writeEvent(sheet: Sheet, event: LineEvent, full: string): void {
  if (event.type === 'run_start' || event.type === 'request_start') sheet.error = null;
  if (event.type === 'notice') sheet.error = errorOf(event.notice) ?? sheet.error;
  const line = eventLine(sheet.paint, event, full);
  if (line === null) return;
  const above = sheet.calls.above(event);
  sheet.thinking = null;
  sheet.pen.line(above === null ? line : `${above}\n${line}`);
}

function writeLine(sheet: Sheet, line: string): void {
  sheet.thinking = null;
  sheet.calls.between();
  sheet.pen.line(line);
}

function writeText(sheet: Sheet, event: Of<'text_delta'>): void {
  if (sheet.thinking !== null) sheet.pen.fresh();
  sheet.thinking = null;
  sheet.calls.between();
  sheet.shown.add(event, event.text);
  sheet.pen.text(showUnseen(event.text));
}

function writeThinking(sheet: Sheet, event: Of<'thinking_delta'>): void {
  const { paint, pen, shown, calls } = sheet;
  calls.between();
  const begins = sheet.thinking !== event.step;
  shown.add(event);
  // Without colours thinking would look like speech.
  if (begins && paint.on) pen.fresh();
  else if (begins) pen.line('(thinking)');
  if (paint.on) pen.text(showUnseen(event.text), paint.dim);
  sheet.thinking = event.step;
}

function takeBack(sheet: Sheet, event: Of<'tombstone'>): void {
  if (!sheet.shown.remove(event)) return;
  const why = oneLine(event.why, 300);
  // The effect of a call may stand even if the attempt that showed it is void.
  const what = event.retold ? `attempt ${event.attempt} failed` : `discard what attempt ${event.attempt} showed above`;
  writeLine(sheet, sheet.paint.yellow(`✗ ${what}: ${why}`));
}

function writeResult(sheet: Sheet, outcome: RunOutcome): void {
  const said = sheet.shown.lastText();
  // The text was shown already unless the channel lost it.
  if (outcome.text !== '' && (said === '' || !outcome.text.endsWith(said))) {
    sheet.pen.fresh();
    sheet.pen.text(`${showUnseen(outcome.text)}\n`);
  }
  const colour = outcome.reason === 'completed' ? sheet.paint.green : sheet.paint.red;
  writeLine(sheet, colour(outcomeText({ ...outcome, detail: unlessSaid(outcome.detail, sheet.error) })));
}
