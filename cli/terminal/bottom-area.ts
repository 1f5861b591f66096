// Manages the rows at the bottom of a terminal that may still change: streaming text, waiting
// messages, the status, what is typed. Permanent output goes above them, through this area. The
// rows are drawn over themselves without clearing, so that nothing flickers.
import { truncateToWidth, displayWidth } from '../../client/faces/basics.ts';

/** Parts from top to bottom. */
const PARTS = ['said', 'calls', 'queued', 'status', 'input', 'footer'] as const;
type AreaPart = (typeof PARTS)[number];

/** `row` and `column` count from 0 within the part. */
export type CursorPlace = { readonly row: number; readonly column: number };

type Terminal = {
  readonly write: (text: string) => unknown;
  readonly columns: () => number;
  readonly rows: () => number;
};

/** Marks output that a terminal with support shows at once. */
const BEGIN = '\u001b[?2026h';
const END = '\u001b[?2026l';
/** Cuts a row that is wider than was reckoned, where it would become two and be drawn twice. */
const CUT = '\u001b[?7l';
const WRAP = '\u001b[?7h';
const NARROWEST = 12;

type DrawnRows = {
  readonly rows: readonly string[];
  readonly cursor: CursorPlace;
  /** Columns of the terminal when they were drawn. */
  readonly columns: number;
};
type HeldOutput = { readonly text: string; readonly write: (text: string) => void };

type ShownPart = { readonly rows: readonly string[]; readonly cursor?: CursorPlace | undefined };

export class BottomArea {
  readonly #terminal: Terminal;
  readonly #parts = new Map<AreaPart, ShownPart>();
  readonly #held: HeldOutput[] = [];
  #drawn: DrawnRows | null = null;
  #isAtLineStart = true;
  #hiders = 0;
  #holders = 0;
  #batches = 0;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  /** Shows rows with our colours, cut to the terminal's width; an empty list removes the part. */
  show(part: AreaPart, rows: readonly string[], cursor?: CursorPlace): void {
    this.#parts.set(part, { rows, cursor });
    this.#draw();
  }

  /** Writes `text` with `write`, above the rows. */
  above(text: string, write: (text: string) => void): void {
    if (text === '') return;
    if (this.#holders > 0) return void this.#held.push({ text, write });
    const wasDrawn = this.#erase();
    write(text);
    this.#isAtLineStart = text.endsWith('\n');
    this.#draw();
    if (wasDrawn && this.#batches === 0) this.#endUnlessDrawn();
  }

  /** Draws once, after `act`, everything that it shows and writes. */
  together(act: () => void): void {
    this.#batches += 1;
    const wasDrawn = this.#drawn !== null;
    try {
      act();
    } finally {
      this.#batches -= 1;
      this.#draw();
      if (wasDrawn) this.#endUnlessDrawn();
    }
  }

  /**
   * Stops drawing until the returned function is called, while something else writes at the bottom.
   */
  hide(): () => void {
    this.#hiders += 1;
    if (this.#erase()) this.#endUnlessDrawn();
    return callOnce(() => {
      this.#hiders -= 1;
      this.#draw();
    });
  }

  /**
   * Stops drawing and holds output back until the returned function is called, while another
   * program has the terminal.
   */
  hold(): () => void {
    const show = this.hide();
    this.#holders += 1;
    return callOnce(() => {
      this.#holders -= 1;
      for (const { text, write } of this.#holders > 0 ? [] : this.#held.splice(0)) this.above(text, write);
      show();
    });
  }

  /**
   * Writes a query to the terminal at the start of an empty row, which is empty again after it.
   * Returns false, and writes nothing, while something else is written there.
   */
  query(text: string): boolean {
    if (!this.#isAtLineStart || this.#hiders > 0 || this.#holders > 0) return false;
    const wasDrawn = this.#erase();
    this.#terminal.write(`\r${text}\r\u001b[K`);
    this.#draw();
    if (wasDrawn) this.#endUnlessDrawn();
    return true;
  }

  /** Must be called when the terminal has another size, or other widths of characters. */
  resize(): void {
    if (this.#erase()) this.#endUnlessDrawn();
    this.#draw();
  }

  #draw(): void {
    if (this.#batches > 0) return;
    const { write, columns } = this.#terminal;
    const next = this.#compose();
    if (isSame(next, this.#drawn)) return;
    write(BEGIN + toTop(this.#drawn, columns()) + textOf(next, this.#drawn) + END);
    this.#drawn = next;
  }

  #compose(): DrawnRows | null {
    const { columns, rows } = this.#terminal;
    if (!this.#isAtLineStart || this.#hiders > 0 || this.#holders > 0 || columns() < NARROWEST) return null;
    return composeRows(this.#parts, { columns: columns(), height: rows() });
  }

  /** Tells whether there was something to erase. The output stays unshown until END follows. */
  #erase(): boolean {
    const { write, columns } = this.#terminal;
    if (this.#drawn === null) return false;
    write(`${BEGIN}${toTop(this.#drawn, columns())}\u001b[J`);
    this.#drawn = null;
    return true;
  }

  #endUnlessDrawn(): void {
    if (this.#drawn === null) this.#terminal.write(END);
  }
}

function callOnce(act: () => void): () => void {
  let isOver = false;
  return () => {
    if (!isOver) act();
    isOver = true;
  };
}

/** Returns the lowest rows that fit; one row stays free for the output above. */
function composeRows(
  parts: ReadonlyMap<AreaPart, ShownPart>,
  { columns, height }: { readonly columns: number; readonly height: number },
): DrawnRows | null {
  const all: string[] = [];
  let cursor: CursorPlace | null = null;
  for (const part of PARTS) {
    const content = parts.get(part);
    if (content?.cursor) cursor = { row: all.length + content.cursor.row, column: content.cursor.column };
    all.push(...(content?.rows ?? []));
  }
  if (all.length === 0) return null;
  const most = Math.max(1, height - 1);
  const above = Math.max(0, all.length - most);
  // One column stays free: a full line would wrap.
  const rows = all.slice(above).map((row) => truncateToWidth(row, columns - 1));
  const end = { row: rows.length - 1, column: displayWidth(rows.at(-1) ?? '') };
  if (cursor === null) return { rows, cursor: end, columns };
  return {
    rows,
    columns,
    cursor: { row: Math.max(0, cursor.row - above), column: Math.min(cursor.column, columns - 1) },
  };
}

function isSame(one: DrawnRows | null, other: DrawnRows | null): boolean {
  if (one === null || other === null) return one === other;
  const { row, column } = one.cursor;
  return row === other.cursor.row && column === other.cursor.column && one.rows.join('\n') === other.rows.join('\n');
}

/**
 * Moves from the cursor to the beginning of the first row; a terminal that became narrower has
 * broken rows in two.
 */
function toTop(drawn: DrawnRows | null, columns: number): string {
  if (drawn === null) return '';
  const { rows, cursor } = drawn;
  const broken = (width: number): number => Math.max(1, Math.ceil(Math.min(width, drawn.columns) / columns));
  const before = rows.slice(0, cursor.row).reduce((sum, row) => sum + broken(displayWidth(row)), 0);
  return moveUp(before + Math.floor(cursor.column / columns));
}

const moveUp = (rows: number): string => `${rows > 0 ? `\u001b[${rows}A` : ''}\r`;

function textOf(next: DrawnRows | null, before: DrawnRows | null): string {
  if (next === null) return '\u001b[J';
  const { rows, cursor } = next;
  const shorter = before !== null && before.rows.length > rows.length ? '\u001b[J' : '';
  const text = rows.map((row) => `${row}\u001b[K`).join('\n') + shorter;
  return `${CUT}${text}${WRAP}${moveUp(rows.length - 1 - cursor.row)}${cursor.column > 0 ? `\u001b[${cursor.column}C` : ''}`;
}
