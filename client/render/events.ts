// Renders a followed session as it goes: text streams, everything else takes a line. What became void is said to be void and
// never said again (L16).
import type { Watched } from '../../activities/live/events.ts';
import type { MessageId, SessionId } from '../../workflows/contract/ids.ts';
import type { Followed } from '../follow/follow.ts';
import type { RunOutcome } from '../sessions/outcome.ts';
import { approvalText } from './approval-text.ts';
import { fullCommand } from './context-words.ts';
import { errorOf, unlessSaid } from './ending.ts';
import { eventLine, type LineEvent } from './event-line.ts';
import { type LinePen, linePen } from './line-pen.ts';
import type { Paint } from './paint.ts';
import { oneLine, plain } from './plain.ts';
import { type ShownAttempts, shownAttempts } from './shown-attempts.ts';
import { type ShownCalls, shownCalls } from './shown-calls.ts';
import { toldAgain } from './told-again.ts';
import { outcomeText } from './words.ts';

export type Screen = {
  readonly write: (text: string) => void;
  readonly paint: Paint;
  /** The message that the one who watches just gave: it need not be said again. */
  readonly own: MessageId | null;
  readonly session: SessionId;
};

type Of<Type extends Watched['type']> = Extract<Watched, { readonly type: Type }>;

type Sheet = Pick<Screen, 'paint'> & {
  readonly pen: LinePen;
  readonly shown: ShownAttempts;
  readonly calls: ShownCalls;
  /** The step whose thinking is being shown. */
  thinking: number | null;
  /** What the last error notice said, while the run it may end goes no further. */
  error: string | null;
};

export function eventRenderer({ write, paint, own, session }: Screen): (event: Followed) => void {
  const [pen, shown, calls] = [linePen(write), shownAttempts(), shownCalls(paint)];
  const sheet: Sheet = { paint, pen, shown, calls, thinking: null, error: null };
  const again = toldAgain();
  const full = fullCommand(session);
  return (event) => {
    if ('step' in event && again(event)) return;
    switch (event.type) {
      case 'text_delta':
        return speak(sheet, event);
      case 'thinking_delta':
        return think(sheet, event);
      case 'tombstone':
        return takeBack(sheet, event);
      case 'approval':
        return say(sheet, approvalText(paint, event));
      case 'approval_settled':
        return;
      case 'result':
        return end(sheet, event);
      default: {
        if (event.type.startsWith('tool_')) sheet.shown.add(event);
        if (event.type !== 'user' || event.id !== own) sayEvent(sheet, event, full);
      }
    }
  };
}

function sayEvent(sheet: Sheet, event: LineEvent, full: string): void {
  if (event.type === 'run_start' || event.type === 'request_start') sheet.error = null;
  if (event.type === 'notice') sheet.error = errorOf(event.notice) ?? sheet.error;
  const line = eventLine(sheet.paint, event, full);
  if (line === null) return;
  const above = sheet.calls.above(event);
  sheet.thinking = null;
  sheet.pen.line(above === null ? line : `${above}\n${line}`);
}

function say(sheet: Sheet, line: string): void {
  sheet.thinking = null;
  sheet.calls.between();
  sheet.pen.line(line);
}

function speak(sheet: Sheet, event: Of<'text_delta'>): void {
  if (sheet.thinking !== null) sheet.pen.fresh();
  sheet.thinking = null;
  sheet.calls.between();
  sheet.shown.add(event, event.text);
  sheet.pen.text(plain(event.text));
}

function think(sheet: Sheet, event: Of<'thinking_delta'>): void {
  const { paint, pen, shown, calls } = sheet;
  calls.between();
  const begins = sheet.thinking !== event.step;
  shown.add(event);
  // Without colours nothing would tell it from what is said.
  if (begins && paint.on) pen.fresh();
  else if (begins) pen.line('(thinking)');
  if (paint.on) pen.text(plain(event.text), paint.dim);
  sheet.thinking = event.step;
}

function takeBack(sheet: Sheet, event: Of<'tombstone'>): void {
  if (!sheet.shown.remove(event)) return;
  const why = oneLine(event.why, 300);
  // What a call has done may stand, whatever became of the attempt that showed it.
  const what = event.retold ? `attempt ${event.attempt} failed` : `discard what attempt ${event.attempt} showed above`;
  say(sheet, sheet.paint.yellow(`✗ ${what}: ${why}`));
}

function end(sheet: Sheet, outcome: RunOutcome): void {
  const said = sheet.shown.lastText();
  // Said already, unless the channel lost it.
  if (outcome.text !== '' && (said === '' || !outcome.text.endsWith(said))) say(sheet, plain(outcome.text));
  const colour = outcome.reason === 'completed' ? sheet.paint.green : sheet.paint.red;
  say(sheet, colour(outcomeText({ ...outcome, detail: unlessSaid(outcome.detail, sheet.error) })));
}
