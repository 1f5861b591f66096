// Renders a followed session as it goes: text streams, everything else takes a line. What became
// void is said to be void and never said again (L16).
import { RecentMap } from '../../system/recent-map.ts';
import type { Watched } from '../../store/live/events.ts';
import type { MessageId, SessionId } from '../../workflows/contract/ids.ts';
import type { Followed } from '../../client/follow/cursor.ts';
import type { RunOutcome } from '../../client/sessions/outcome.ts';
import { approvalText } from '../../client/render/approval-text.ts';
import { fullCommand } from '../../client/render/context-words.ts';
import { errorOf, unlessSaid, outcomeText } from '../../client/render/ending-words.ts';
import { eventLine, type LineEvent, type ShownCalls, shownCalls } from './event-line.ts';
import { linePen, type Pen, type TerminalPen, terminalPen } from '../terminal/pens.ts';
import { type Paint, oneLine } from '../../client/paint.ts';
import { showUnseen } from '../../system/text.ts';

type Screen = {
  readonly write: (text: string) => void;
  readonly paint: Paint;
  /** The message that the one who watches just gave: it need not be said again. */
  readonly own: MessageId | null;
  readonly session: SessionId;
  /**
   * A terminal that is drawn on: replies are rendered, lines wrapped between words. Absent: text as
   * it comes.
   */
  readonly terminal?: TerminalPen | null;
};

type Of<Type extends Watched['type']> = Extract<Watched, { readonly type: Type }>;

type Sheet = Pick<Screen, 'paint'> & {
  readonly pen: Pen;
  readonly shown: ShownAttempts;
  readonly calls: ShownCalls;
  /** The step whose thinking is being shown. */
  thinking: number | null;
  /** The words of the last error notice, while the run it may end goes no further. */
  error: string | null;
};

export function eventRenderer({ write, paint, own, session, terminal }: Screen): (event: Followed) => void {
  const pen = terminal ? terminalPen(paint, terminal) : linePen(paint, write);
  const [shown, calls] = [shownAttempts(), shownCalls(paint)];
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
      case 'question':
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
  sheet.pen.text(showUnseen(event.text));
}

function think(sheet: Sheet, event: Of<'thinking_delta'>): void {
  const { paint, pen, shown, calls } = sheet;
  calls.between();
  const begins = sheet.thinking !== event.step;
  shown.add(event);
  // Without colours nothing would tell it from what is said.
  if (begins && paint.on) pen.fresh();
  else if (begins) pen.line('(thinking)');
  if (paint.on) pen.text(showUnseen(event.text), paint.dim);
  sheet.thinking = event.step;
}

function takeBack(sheet: Sheet, event: Of<'tombstone'>): void {
  if (!sheet.shown.remove(event)) return;
  const why = oneLine(event.why, 300);
  // The effect of a call may stand, whatever became of the attempt that showed it.
  const what = event.retold ? `attempt ${event.attempt} failed` : `discard what attempt ${event.attempt} showed above`;
  say(sheet, sheet.paint.yellow(`✗ ${what}: ${why}`));
}

function end(sheet: Sheet, outcome: RunOutcome): void {
  const said = sheet.shown.lastText();
  // Said already, unless the channel lost it.
  if (outcome.text !== '' && (said === '' || !outcome.text.endsWith(said))) {
    sheet.pen.fresh();
    sheet.pen.text(`${showUnseen(outcome.text)}\n`);
  }
  const colour = outcome.reason === 'completed' ? sheet.paint.green : sheet.paint.red;
  say(sheet, colour(outcomeText({ ...outcome, detail: unlessSaid(outcome.detail, sheet.error) })));
}

// The part of each attempt that is on the screen: it may become void, and then people have to be
// told (L16).

type Place = { readonly step: number; readonly attempt: number };

type ShownAttempts = {
  /** `text`: what the model said. */
  add(place: Place, text?: string): void;
  /** Whether anything of it was shown. */
  remove(place: Place): boolean;
  /** The text of the newest attempt that stands, so far. */
  lastText(): string;
};

/**
 * Texts of the newest attempts are kept; that an older one was shown is known of all, for any may
 * become void.
 */
const KEPT_ATTEMPTS = 64;

function shownAttempts(): ShownAttempts {
  const shown = new Set<string>();
  const texts = new RecentMap<string, string>(KEPT_ATTEMPTS);
  const name = ({ step, attempt }: Place): string => `${step}.${attempt}`;
  return {
    add: (place, text = '') => {
      const before = texts.get(name(place)) ?? '';
      shown.add(name(place));
      texts.set(name(place), before + text);
    },
    remove: (place) => {
      texts.delete(name(place));
      return shown.delete(name(place));
    },
    lastText: () => [...texts.values()].findLast((text) => text !== '') ?? '',
  };
}

// The entries that a step appends are told before its attempt has come to anything. When that one
// dies, a retry or the call after a parking tells it again: it was true all the time, and a person
// need not read it twice.

/**
 * True for what was told already, by an attempt that died. To be asked about each event, in order.
 */
type ToldAgain = (event: Watched) => boolean;

/** Attempts that may still die; as many calls may run beside each other, and more. */
const KEPT_TELLINGS = 64;

function toldAgain(): ToldAgain {
  const byAttempt = new RecentMap<string, string[]>(KEPT_TELLINGS);
  const pending = new Set<string>();
  return (event) => {
    const attempt = `${event.step}.${event.attempt}`;
    if (event.type === 'tombstone') {
      for (const fact of byAttempt.get(attempt) ?? []) pending.add(fact);
      byAttempt.delete(attempt);
    }
    // The pending entries are stored with it.
    if (event.type === 'reply') pending.clear();
    const fact = factOf(event);
    if (fact === null) return false;
    byAttempt.set(attempt, [...(byAttempt.get(attempt) ?? []), fact]);
    return pending.delete(fact);
  };
}

function factOf(event: Watched): string | null {
  switch (event.type) {
    case 'user':
      return `user ${event.id}`;
    case 'transition':
      return `transition ${event.iteration}`;
    case 'steered':
      return `steered ${JSON.stringify(event.steered)}`;
    case 'notice':
      return `notice ${JSON.stringify(event.notice)}`;
    default:
      return null;
  }
}
