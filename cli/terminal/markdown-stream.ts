// Renders a model's text as Markdown on a terminal while it arrives, wrapped between words.
// Complete rows are given out once and never drawn again; the last few, which may still change, are
// drawn below everything else. All text has been made harmless before.
import type { Paint, MarkdownSpan, TextMark } from '../../client/faces/types.ts';
import { inlineSpans } from '../../client/faces/words.ts';
import { truncateToWidth, displayWidth, splitGraphemes, wrapLine, present } from '../../client/faces/basics.ts';

export type TextStream = {
  /** Returns the rows that are complete. */
  add(text: string): readonly string[];
  /** Returns the rows that are not complete. */
  pending(): readonly string[];
  /** Ends the text and returns the remaining rows. */
  end(): readonly string[];
};

type StreamOptions = {
  readonly paint: Paint;
  readonly columns: () => number;
  /** Style for plain text. Absent: Markdown. */
  readonly style?: (text: string) => string;
};

/**
 * Most rows of one line that are held back, since markup that closes later changes how they look.
 */
const HELD_ROWS = 4;
/** Most characters of one line that are held back: a line of a megabyte goes out in pieces. */
const HELD = 4_000;
const HELD_TABLE = 200;

type State = {
  line: string;
  /** Prefix for the rest of a broken line; null at the beginning of a line. */
  hang: string | null;
  style: ((text: string) => string) | null;
  fence: string | null;
  table: string[];
};

export function textStream({ paint, columns, style: plain }: StreamOptions): TextStream {
  const state: State = { line: '', hang: null, style: null, fence: null, table: [] };
  const room = (): Room => present({ paint, columns: Math.max(20, columns() - 1), plain });
  const finish = (): readonly string[] => {
    const rows = finishLine(state, room());
    Object.assign(state, { line: '', hang: null, style: null });
    return rows;
  };
  return {
    add: (text) => {
      const rows: string[] = [];
      const lines = text.split('\n');
      for (const [at, part] of lines.entries()) {
        for (let from = 0; from < part.length; from += HELD) {
          state.line += part.slice(from, from + HELD);
          rows.push(...breakOff(state, room()));
        }
        if (at < lines.length - 1) rows.push(...finish());
      }
      return rows;
    },
    pending: () => [
      ...state.table.slice(-HELD_ROWS).map((line) => paint.dim(truncateToWidth(line, room().columns))),
      ...(state.line === '' && state.hang === null ? [] : rowsOf(state, room()).rows.map(({ text }) => text)),
    ],
    end: () => [...(state.line === '' && state.hang === null ? [] : finish()), ...endTable(state, room())],
  };
}

function endTable(state: State, room: Room): readonly string[] {
  const lines = state.table;
  state.table = [];
  return lines.length === 0 ? [] : tableRows(lines, room);
}

type Room = { readonly paint: Paint; readonly columns: number; readonly plain?: (text: string) => string };

/** Renders a complete line and what was held back for it. */
function finishLine(state: State, room: Room): readonly string[] {
  const { line, hang } = state;
  if (room.plain) return rowsOf(state, room).rows.map(({ text }) => text);
  if (hang === null && state.fence === null && isTableRow(line.trim())) {
    state.table.push(line.trim());
    return state.table.length > HELD_TABLE ? endTable(state, room) : [];
  }
  const before = endTable(state, room);
  const [, fence = ''] = hang === null ? (/^\s{0,3}(`{3,}|~{3,})/.exec(line) ?? []) : [];
  if (state.fence === null && fence !== '') {
    state.fence = fence;
    const name = line.trim().slice(fence.length).trim();
    return name === '' ? before : [...before, room.paint.dim(`  ${truncateToWidth(name, room.columns - 2)}`)];
  }
  if (state.fence !== null && fence.startsWith(state.fence) && line.trim() === fence) {
    state.fence = null;
    return before;
  }
  return [...before, ...rowsOf(state, room).rows.map(({ text }) => text)];
}

/** Gives out the first rows of a line that has become long. */
function breakOff(state: State, room: Room): readonly string[] {
  const { rows, hang, style } = rowsOf(state, room);
  const long = state.line.length > HELD;
  if (rows.length <= HELD_ROWS && !long) return [];
  const last = rows.findLastIndex(({ rest }, at) => at > 0 && rest !== null);
  // A single link may fill all rows; it is given out as it is.
  if (last < 1 && !long) return [];
  const at = last < 1 ? rows.length - 1 : last;
  const rest = rows[at]?.rest ?? '';
  Object.assign(state, { line: rest, hang, style });
  return [...endTable(state, room), ...rows.slice(0, last < 1 ? rows.length : at).map(({ text }) => text)];
}

/** `rest` is the line from this row on; null where the line must not be broken. */
type Row = { readonly text: string; readonly rest: string | null };
type Rows = { readonly rows: readonly Row[]; readonly hang: string; readonly style: ((text: string) => string) | null };

function rowsOf(state: State, room: Room): Rows {
  const { line, hang, fence, style } = state;
  const { paint, columns, plain } = room;
  if (plain) {
    const spans: readonly MarkdownSpan[] = line === '' ? [] : [{ text: line, marks: [], at: 0, open: '' }];
    return { rows: wrapSpans(spans, { source: line, lead: '', hang: '', style: plain }, room), hang: '', style: plain };
  }
  // Do not wrap code, so that a copy has its original lines.
  if (fence !== null)
    return { rows: [{ text: `  ${line.replaceAll('\t', '    ')}`, rest: null }], hang: '  ', style: null };
  if (hang !== null)
    return { rows: wrapSpans(inlineSpans(line), { source: line, lead: hang, hang, style }, room), hang, style };
  const block = blockOf(line, paint, columns);
  if (block.whole !== undefined) return { rows: [{ text: block.whole, rest: null }], hang: '', style: null };
  const moved = inlineSpans(block.text).map((span) => ({ ...span, at: span.at + block.from }));
  return { rows: wrapSpans(moved, { ...block, source: line }, room), hang: block.hang, style: block.style ?? null };
}

type Block = {
  /** The text within its markup, which begins at `from` of the line. */
  readonly text: string;
  readonly from: number;
  readonly lead: string;
  readonly hang: string;
  readonly style?: (text: string) => string;
  /** The whole block as it is shown. */
  readonly whole?: string;
};

function blockOf(line: string, paint: Paint, columns: number): Block {
  const none = { lead: '', hang: '', from: 0, text: line };
  if (/^\s{0,3}([-*_])(?:\s*\1){2,}\s*$/.test(line))
    return { ...none, whole: paint.dim('─'.repeat(Math.floor(Math.min(columns, 40) / displayWidth('─')))) };
  const heading = /^\s{0,3}#{1,6}\s+/.exec(line)?.[0];
  if (heading !== undefined)
    return { ...none, text: line.slice(heading.length), from: heading.length, style: paint.bold };
  const [quoted = '', marks = ''] = /^\s{0,3}((?:>\s?)+)/.exec(line) ?? [];
  if (quoted !== '') {
    const lead = paint.dim('│ '.repeat(Math.min(8, marks.split('>').length - 1)));
    return { text: line.slice(quoted.length), from: quoted.length, lead, hang: lead };
  }
  const [item = '', inset = '', bullet = '', box] = /^(\s*)([-*+]|\d{1,9}[.)])\s+(?:\[([ xX])\]\s+)?/.exec(line) ?? [];
  if (item !== '') {
    const sign = /\d/.test(bullet) ? bullet : '•';
    const lead = `${inset.slice(0, 20)}${sign} ${box === undefined ? '' : box === ' ' ? '☐ ' : '☑ '}`;
    return { text: line.slice(item.length), from: item.length, lead, hang: ' '.repeat(displayWidth(lead)) };
  }
  const blank = /^\s*/.exec(line)?.[0] ?? '';
  const lead = blank.slice(0, 20);
  return { text: line.slice(blank.length), from: blank.length, lead, hang: lead };
}

type Layout = {
  /** The line that the places of the spans refer to. */
  readonly source: string;
  readonly lead: string;
  readonly hang: string;
  readonly style?: ((text: string) => string) | null;
};

type Piece = { readonly text: string; readonly span: MarkdownSpan; readonly from: number };
/** Pieces without a blank between them, and the blanks before. */
type Word = { readonly blank: string; readonly pieces: readonly Piece[]; readonly width: number };

/** Wraps spans into rows that know where in their line they begin. */
function wrapSpans(spans: readonly MarkdownSpan[], layout: Layout, { paint, columns }: Room): readonly Row[] {
  const { source, lead, hang, style } = layout;
  const rows: Row[] = [];
  let row = lead;
  let width = displayWidth(lead);
  let least = width;
  let rest: string | null = null;
  const next = (piece: Piece | undefined): void => {
    rows.push({ text: row, rest });
    row = hang;
    width = least = displayWidth(hang);
    rest = piece?.span.open == null ? null : piece.span.open + source.slice(piece.span.at + piece.from);
  };
  const look = (text: string, { marks }: MarkdownSpan): string => {
    const marked = marks.reduce((styled, mark) => LOOKS[mark](paint)(styled), text);
    return style ? style(marked) : marked;
  };
  for (const { blank, pieces, width: wide } of wordsOf(spans)) {
    const breaks = width + blank.length + wide > columns && width > least;
    if (breaks) next(pieces[0]);
    row += breaks ? '' : blank;
    width += breaks ? 0 : blank.length;
    for (const { text, span } of pieces)
      for (const part of wide > columns - least ? splitGraphemes(text) : [text]) {
        const partWidth = displayWidth(part);
        // The line cannot be continued from within a word.
        if (width + partWidth > columns && width > least) next(undefined);
        row += look(part, span);
        width += partWidth;
      }
  }
  return [...rows, { text: row, rest }];
}

function* wordsOf(spans: readonly MarkdownSpan[]): Iterable<Word> {
  let word: { blank: string; pieces: Piece[]; width: number } = { blank: '', pieces: [], width: 0 };
  for (const span of spans)
    for (const { 0: text, 1: blank, index: from } of span.text.matchAll(/( +)|([^ ]+)/g)) {
      if (blank === undefined) {
        word.pieces.push({ text, span, from });
        word.width += displayWidth(text);
        continue;
      }
      if (word.pieces.length > 0) {
        yield word;
        word = { blank: '', pieces: [], width: 0 };
      }
      word.blank += blank;
    }
  if (word.pieces.length > 0 || word.blank !== '') yield word;
}

const LOOKS: Readonly<Record<TextMark, (paint: Paint) => (text: string) => string>> = {
  strong: (paint) => paint.bold,
  emphasis: (paint) => paint.italic,
  struck: (paint) => paint.dim,
  code: (paint) => paint.cyan,
  link: (paint) => paint.underline,
  target: (paint) => paint.dim,
};

const isTableRow = (line: string): boolean => line.length > 1 && line.startsWith('|') && line.endsWith('|');

/** `lines` has the whole table, each line a row as written. */
function tableRows(lines: readonly string[], { paint, columns }: Room): readonly string[] {
  const isRule = (line: string): boolean => /^[|\s:-]+$/.test(line);
  const rows = lines.filter((line) => !isRule(line)).map(cellsOf);
  const most = Math.max(1, ...rows.map((row) => row.length));
  const widths = Array.from({ length: most }, (_, at) =>
    Math.max(0, ...rows.map((row) => displayWidth(plainOf(row[at] ?? '')))),
  );
  const total = widths.reduce((sum, width) => sum + width, 0) + displayWidth(BETWEEN) * (most - 1);
  if (total > columns || rows.length === 0 || !lines.some(isRule))
    return lines.flatMap((line) => wrapLine(line, { columns }));
  const drawn = rows.map((row, at) => {
    const cells = widths.map((width, column) => {
      const cell = row[column] ?? '';
      const pad = ' '.repeat(Math.max(0, width - displayWidth(plainOf(cell))));
      const spans = inlineSpans(cell).map(({ text, marks }) =>
        marks.reduce((one, mark) => LOOKS[mark](paint)(one), text),
      );
      return (at === 0 ? paint.bold(spans.join('')) : spans.join('')) + pad;
    });
    return cells.join(paint.dim(BETWEEN)).trimEnd();
  });
  const rule = paint.dim(widths.map(ruleOf).join(displayWidth('─') === 1 ? '─┼─' : ' ┼ '));
  return [...drawn.slice(0, 1), rule, ...drawn.slice(1)];
}

const BETWEEN = ' │ ';

/** Fills a column also where the terminal draws the rule in two columns a character. */
const ruleOf = (width: number): string =>
  '─'.repeat(Math.floor(width / displayWidth('─'))) + ' '.repeat(width % displayWidth('─'));

const plainOf = (cell: string): string =>
  inlineSpans(cell)
    .map(({ text }) => text)
    .join('');

function cellsOf(line: string): readonly string[] {
  const inner = line.replace(/^\|/, '').replace(/\|$/, '');
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim());
}
