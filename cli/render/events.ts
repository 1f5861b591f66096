// Renders a followed session as it goes: text streams, everything else takes a line. Void output is
// said to be void and is not repeated (L16).
import type { WatchedEvent, Followed, RunOutcome, Paint, MessageId, SessionId } from '../../client/faces/types.ts';
import {
  isTombstone,
  approvalText,
  callToDecideText,
  isOrdinary,
  fullCommand,
  errorOf,
  outcomeText,
  unlessSaid,
  callAgain,
} from '../../client/faces/words.ts';
import { rowsText } from '../../client/faces/basics.ts';
import { oneLine } from '../../client/faces/start.ts';
import { isPicked } from '../approving/pick-decision.ts';
import { type CallRows, trackCallRows } from './call-rows.ts';
import { eventLine, type LineEvent } from './event-line.ts';
import { showUnseen } from '../../system/text.ts';
import { LiveView, reduceLive, type Revocation } from '../../client/view/reduce-live.ts';
import { type TextStream, textStream } from '../terminal/markdown-stream.ts';

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

/** Attempts that may still become void, at least as many as calls run in parallel. */
const KEPT_ATTEMPTS = 64;

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
  readonly view: LiveView;
  readonly calls: ShownCalls;
  /** The rows; null where everything is written as it comes. */
  readonly rows: CallRows | null;
  readonly terminal: CallsBelow | null;
  /** The step whose thinking is being shown. */
  thinking: number | null;
  /** Text of the last error notice, until the run goes on. */
  error: string | null;
};

export function eventRenderer({ write, paint, own, session, terminal }: Screen): EventRenderer {
  const pen = terminal ? terminalPen(paint, terminal) : linePen(paint, write);
  const [view, calls] = [new LiveView(0, KEPT_ATTEMPTS), trackCalls(paint)];
  const rows = terminal ? trackCallRows(paint) : null;
  const sheet: Sheet = { paint, pen, view, calls, rows, terminal: terminal ?? null, thinking: null, error: null };
  const full = fullCommand(session);
  const render = (event: Followed): void => {
    // The words of a run stay on the screen when it has ended.
    const changes = 'step' in event && event.type !== 'run_end' ? reduceLive(view, event) : [];
    for (const change of changes) {
      if (change.do === 'revoke') return takeBack(sheet, change);
      // A person need not read twice what was true all along.
      if (change.do === 'put' && change.again) return;
    }
    if (rows && writeCall(sheet, rows, event)) return;
    switch (event.type) {
      case 'text_delta':
        return writeText(sheet, event);
      case 'thinking_delta':
        return writeThinking(sheet, event);
      case 'approval':
      case 'question':
        return writeLine(sheet, approvalText(paint, event));
      case 'approval_settled':
        return;
      case 'result':
        return writeResult(sheet, event);
      default:
        if (!isTombstone(event) && (event.type !== 'user' || event.id !== own)) writeEvent(sheet, event, full);
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
      rows.use(event);
      return true;
    case 'tool_end': {
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
    case 'reply':
      return event.fate !== 'cut';
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
  sheet.pen.text(showUnseen(event.text));
}

function writeThinking(sheet: Sheet, event: Of<'thinking_delta'>): void {
  const { paint, pen, calls } = sheet;
  calls.between();
  const begins = sheet.thinking !== event.step;
  // Without colours thinking would look like speech.
  if (begins && paint.on) pen.fresh();
  else if (begins) pen.line('(thinking)');
  if (paint.on) pen.text(showUnseen(event.text), paint.dim);
  sheet.thinking = event.step;
}

function takeBack(sheet: Sheet, { tombstone, hadOutput }: Revocation): void {
  const { iteration, attempt, retold, why } = tombstone;
  if (sheet.rows) {
    if (iteration !== null) sheet.rows.drop({ iteration });
    flushReads(sheet, sheet.rows);
  }
  if (!hadOutput) return;
  // The effect of a call may stand even if the attempt that showed it is void.
  const what = retold ? `attempt ${attempt} failed` : `discard what attempt ${attempt} showed above`;
  writeLine(sheet, sheet.paint.yellow(`✗ ${what}: ${oneLine(why, 300)}`));
}

function writeResult(sheet: Sheet, outcome: RunOutcome): void {
  const printed = lastText(sheet.view);
  // The text was shown already unless the channel lost it.
  if (outcome.text !== '' && (printed === '' || !outcome.text.endsWith(printed))) {
    sheet.pen.fresh();
    sheet.pen.text(`${showUnseen(outcome.text)}\n`);
  }
  const colour = outcome.reason === 'completed' ? sheet.paint.green : sheet.paint.red;
  writeLine(sheet, colour(outcomeText({ ...outcome, detail: unlessSaid(outcome.detail, sheet.error) })));
}

/** Returns the text of the attempt that has streamed last, of those that stand. */
function lastText({ attempts }: LiveView): string {
  const texts = [...attempts.values()].map((items) =>
    [...items.values()].map(({ event, text }) => (event.type === 'text_delta' ? text : '')).join(''),
  );
  return texts.findLast((text) => text !== '') ?? '';
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

type Pen = {
  text(words: string, style?: (words: string) => string): void;
  /** Goes to a new line, unless it is at the start of one. */
  fresh(): void;
  line(words: string): void;
};

/** Writes text as it comes, and knows whether it is at the start of a line. */
function linePen({ columns }: Pick<Paint, 'columns'>, write: (text: string) => void): Pen {
  let atStart = true;
  const pen: Pen = {
    text: (words, style) => {
      if (words === '') return;
      write(style ? style(words) : words);
      atStart = words.endsWith('\n');
    },
    fresh: () => {
      if (!atStart) pen.text('\n');
    },
    line: (words) => {
      pen.fresh();
      pen.text(rowsText(columns(), words));
    },
  };
  return pen;
}

type TerminalPen = {
  readonly columns: () => number;
  /** Writes permanent text, and below it the streaming rows that are not complete. */
  readonly put: (text: string, pending: readonly string[]) => void;
};

/**
 * Treats streaming text as Markdown, or as plain text if it has a style. Only complete rows are
 * written.
 */
function terminalPen(paint: Paint, { columns, put }: TerminalPen): Pen {
  let stream: { readonly text: TextStream; readonly style: ((words: string) => string) | undefined } | null = null;
  const textOf = (rows: readonly string[]): string => rows.map((row) => `${row}\n`).join('');
  const fresh = (): void => {
    if (stream) put(textOf(stream.text.end()), []);
    stream = null;
  };
  return {
    text: (words, style) => {
      if (stream && (stream.style === undefined) !== (style === undefined)) fresh();
      stream ??= { text: textStream({ paint, columns, ...(style && { style }) }), style };
      const rows = stream.text.add(words);
      put(textOf(rows), stream.text.pending());
    },
    fresh,
    line: (words) => {
      fresh();
      put(rowsText(columns(), words), []);
    },
  };
}
