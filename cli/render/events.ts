// Renders a followed session as it goes: text streams, everything else takes a line. Void output is
// said to be void and is not repeated (L16).
import type { WatchedEvent } from '../../store/live/events.ts';
import type { MessageId, SessionId } from '../../workflows/contract/ids.ts';
import type { Followed } from '../../client/follow/cursor.ts';
import type { RunOutcome } from '../../client/sessions/outcome.ts';
import { approvalText, callToDecideText } from '../../client/render/approval-text.ts';
import { isOrdinary } from '../../client/render/words.ts';
import { isPicked } from '../approving/pick-decision.ts';
import { type CallRows, trackCallRows } from './call-rows.ts';
import { fullCommand } from '../../client/render/context-words.ts';
import { errorOf, outcomeText, unlessSaid } from '../../client/render/ending-words.ts';
import { eventLine, type LineEvent } from './event-line.ts';
import { linePen, type Pen, type TerminalPen, terminalPen } from '../terminal/pens.ts';
import { oneLine, type Paint } from '../../client/paint.ts';
import { showUnseen } from '../../system/text.ts';
import { RecentMap } from '../../system/recent-map.ts';
import { callAgain } from '../../client/render/tool-lines.ts';

type Screen = {
  readonly write: (text: string) => void;
  readonly paint: Paint;
  /** The message that this person has just sent. It need not be shown again. */
  readonly own: MessageId | null;
  readonly session: SessionId;
  /**
   * A terminal to draw on, with rendered replies and lines wrapped between words. Absent: text as
   * it comes.
   */
  readonly terminal?: DrawnTerminal | null;
};

/** The part of a terminal in which calls stand that have not ended. */
type CallsBelow = {
  readonly showCalls: (rows: readonly string[]) => void;
  /** A person decides here, right below what a call would do. */
  readonly decidesHere: boolean;
};

export type DrawnTerminal = TerminalPen & CallsBelow;

type EventRenderer = {
  (event: Followed): void;
  /**
   * Returns the output of the newest calls that were not asked for yet; null when there is none.
   */
  output(): string | null;
};

type Of<Type extends WatchedEvent['type']> = Extract<WatchedEvent, { readonly type: Type }>;

type Sheet = Pick<Screen, 'paint'> & {
  readonly pen: Pen;
  readonly shown: ShownAttempts;
  readonly calls: ShownCalls;
  /** Null where everything is written as it comes. */
  readonly rows: CallRows | null;
  readonly terminal: CallsBelow | null;
  /** The step whose thinking is being shown. */
  thinking: number | null;
  /** Text of the last error notice, until the run goes on. */
  error: string | null;
};

export function eventRenderer({ write, paint, own, session, terminal }: Screen): EventRenderer {
  const pen = terminal ? terminalPen(paint, terminal) : linePen(paint, write);
  const [shown, calls] = [trackAttempts(), trackCalls(paint)];
  const rows = terminal ? trackCallRows(paint) : null;
  const sheet: Sheet = { paint, pen, shown, calls, rows, terminal: terminal ?? null, thinking: null, error: null };
  const again = suppressRepeats();
  const full = fullCommand(session);
  const render = (event: Followed): void => {
    if ('step' in event && again(event)) return;
    if (rows && writeCall(sheet, rows, event)) return;
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
  const renderAll = (event: Followed): void => {
    render(event);
    terminal?.showCalls(rows?.pending() ?? []);
  };
  return Object.assign(renderAll, { output: () => rows?.output() ?? null });
}

/** Events that write nothing, so that folded reads stay open. */
const SILENT = new Set(['request_start', 'tool_start', 'approval_settled', 'hook_start', 'hook_end', 'run_end']);

/**
 * Writes what a terminal shows of calls, and of an interrupt, which its result tells. Returns false
 * for events that are shown as everywhere.
 */
function writeCall(sheet: Sheet, rows: CallRows, event: Followed): boolean {
  switch (event.type) {
    case 'tool_use':
      sheet.shown.add(event);
      rows.use(event);
      return true;
    case 'tool_end': {
      sheet.shown.add(event);
      const lines = rows.end(event);
      if (lines !== null) {
        flushReads(sheet, rows);
        writeLine(sheet, lines);
      }
      return true;
    }
    case 'approval':
    case 'question':
      flushReads(sheet, rows);
      if (sheet.terminal?.decidesHere !== true || (event.question && !isPicked(event))) return false;
      if (!event.agent) rows.ask(event.index);
      writeLine(sheet, callToDecideText(sheet.paint, event));
      return true;
    case 'tombstone':
      if (event.iteration !== null) rows.drop({ iteration: event.iteration });
      flushReads(sheet, rows);
      return false;
    case 'reply':
      return event.fate === 'interrupted' || isOrdinaryReply(event);
    case 'notice':
      if (event.notice.kind === 'interrupted') return true;
      break;
    case 'steered':
      if (event.steered.action === 'interrupt') return true;
      break;
    case 'transition':
      if (isOrdinary(event.reason)) return true;
      break;
    case 'result':
      flushReads(sheet, rows);
      for (const line of rows.leave()) writeLine(sheet, line);
      return false;
    default:
      break;
  }
  if (!SILENT.has(event.type)) flushReads(sheet, rows);
  return false;
}

const isOrdinaryReply = ({ fate }: Of<'reply'>): boolean => fate === 'whole';

function flushReads(sheet: Sheet, rows: CallRows): void {
  const line = rows.flush();
  if (line !== null) writeLine(sheet, line);
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

// Remembers which attempts are on the screen: an attempt may become void, and then people must be
// told (L16).
type Place = { readonly step: number; readonly attempt: number };

type ShownAttempts = {
  /** `text` is what the model said. */
  add(place: Place, text?: string): void;
  /** Returns whether anything of the attempt was shown. */
  remove(place: Place): boolean;
  /** Returns the text so far of the newest attempt that stands. */
  lastText(): string;
};

/**
 * Number of newest attempts whose texts are kept. All shown attempts are remembered, since any may
 * become void.
 */
const KEPT_ATTEMPTS = 64;

function trackAttempts(): ShownAttempts {
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

// Tracks which call a result on the screen belongs to. Calls run in parallel and other output may
// come between, so a result that is not right below its call names it again.
type ShownCalls = {
  /** Returns the line to print above an event that needs one, else null. */
  above(event: LineEvent): string | null;
  /** Must be called when something else was written. */
  between(): void;
};

function trackCalls(paint: Paint): ShownCalls {
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

/**
 * Returns true for an event that an attempt told before it died. Must be called with each event, in
 * order.
 */
type IsRepeat = (event: WatchedEvent) => boolean;

/** Number of attempts that may still die, at least as many as calls run in parallel. */
const KEPT_TELLINGS = 64;

/**
 * Suppresses repeated facts. The entries that a step appends are told before its attempt has
 * succeeded. If it dies, a retry or the call after a parking tells them again; they were true all
 * along, and a person need not read them twice.
 */
function suppressRepeats(): IsRepeat {
  const byAttempt = new RecentMap<string, string[]>(KEPT_TELLINGS);
  const pending = new Set<string>();
  return (event) => {
    const attempt = `${event.step}.${event.attempt}`;
    if (event.type === 'tombstone') {
      for (const fact of byAttempt.get(attempt) ?? []) pending.add(fact);
      byAttempt.delete(attempt);
    }
    // The reply stores the pending entries.
    if (event.type === 'reply') pending.clear();
    const fact = factOf(event);
    if (fact === null) return false;
    byAttempt.set(attempt, [...(byAttempt.get(attempt) ?? []), fact]);
    return pending.delete(fact);
  };
}

function factOf(event: WatchedEvent): string | null {
  switch (event.type) {
    case 'user':
      return `user ${event.id}`;
    case 'transition':
      return `transition ${event.iteration}`;
    case 'steered':
      return `steered ${JSON.stringify(event.steered)}`;
    case 'notice':
      return `notice ${JSON.stringify(event.notice)}`;
    case 'microcompact':
      return `microcompact ${event.before}`;
    case 'collapse_committed':
      return `collapse_committed ${event.count}`;
    case 'snip':
      return `snip ${event.entries.join(' ')}`;
    default:
      return null;
  }
}
