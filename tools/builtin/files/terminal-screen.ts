// The last rows of a virtual terminal. Rows that scroll off its top are passed on as lines;
// characters that are drawn over are gone, as on any terminal.

/**
 * The columns of a row: far more than those of a real terminal, as no command is told of any. A
 * longer line continues in the next row, and is one line again when it is passed on.
 */
const MOST_COLUMNS = 1_024;
/** The rows that the cursor can go back to. */
const MOST_ROWS = 64;
const TAB_STOP = 8;
/** UTF-16 units of one cell: marks beyond them are left out. */
const MOST_OF_CELL = 32;

/** An empty cell belongs to the wide character or the tab before it. */
type Row = { cells: string[]; isRedrawn: boolean; readonly continues: boolean };

const newRow = (continues = false): Row => ({ cells: [], isRedrawn: false, continues });

export class TerminalScreen {
  readonly #pass: (text: string) => void;
  #rows: Row[] = [newRow()];
  #at = 0;
  #column = 0;
  #saved = { at: 0, column: 0 };
  /** Whether the first row is the top of a screen that a program has cleared. */
  #isCleared = false;

  /** `pass` gets lines that can't change again. */
  constructor(pass: (text: string) => void) {
    this.#pass = pass;
  }

  /** Tells whether what comes next cannot change what is drawn. */
  isAtEnd(): boolean {
    return this.#at === this.#rows.length - 1 && this.#column >= this.#row.cells.length;
  }

  /** Passes on all rows; the cursor is then in the first row of an empty screen. */
  flush(): void {
    const rows = this.#rows;
    while (rows.length > this.#at + 1 && rows.at(-1)?.cells.length === 0) rows.pop();
    rows.forEach((row, n) => this.#pass(textOf(row, rows[n + 1])));
    this.#rows = [newRow()];
    this.#isCleared = false;
    this.#saved = { at: 0, column: 0 };
    this.#goTo(0, 0);
  }

  /** Draws printable ASCII. */
  putPlain(text: string): void {
    for (let from = this.#passBeginning(text); from < text.length;) {
      if (this.#column >= MOST_COLUMNS) this.#addRow(true);
      const part = text.slice(from, from + MOST_COLUMNS - this.#column);
      const cells = this.#openCells(part.length);
      for (let n = 0; n < part.length; n++) cells[this.#column + n] = part.charAt(n);
      this.#column += part.length;
      from += part.length;
    }
  }

  /** Draws one character; a mark of width 0 joins the one before. */
  put(character: string, width: 0 | 1 | 2): void {
    if (width === 0) {
      this.#joinMark(character);
      return;
    }
    if (this.#column + width > MOST_COLUMNS) this.#addRow(true);
    const cells = this.#openCells(width);
    cells[this.#column] = character;
    if (width === 2) cells[this.#column + 1] = '';
    this.#column += width;
  }

  backspace(): void {
    this.#column = Math.max(0, Math.min(this.#column, MOST_COLUMNS) - 1);
  }

  carriageReturn(): void {
    this.#column = 0;
  }

  newLine(): void {
    if (this.#at === this.#rows.length - 1) this.#addRow(false);
    else this.#goTo(this.#at + 1, 0);
  }

  /** A tab moves the cursor; only after the end of a line it is a character of the text. */
  tab(): void {
    const stop = Math.min(MOST_COLUMNS, (Math.floor(this.#column / TAB_STOP) + 1) * TAB_STOP);
    if (this.#column >= this.#row.cells.length && this.#column < stop) {
      const cells = this.#openCells(stop - this.#column);
      for (let n = this.#column; n < stop; n++) cells[n] = n === this.#column ? '\t' : '';
    }
    this.#column = stop;
  }

  /** Acts on `ESC [ parameters final`. What only changes how text looks does nothing. */
  control(final: string, parameters: string): void {
    if (parameters.startsWith('?')) {
      if (/^\?(?:1049|1047|47)$/.test(parameters) && (final === 'h' || final === 'l')) this.#clear();
      return;
    }
    const [first = 0, second = 0] = parameters.split(';').map((one) => Math.min(Number.parseInt(one, 10) || 0, 9_999));
    if (final === 'K') this.#eraseInLine(first);
    else if (final === 'J') this.#eraseInScreen(first);
    else if (final === 'H' || final === 'f') this.#goToPlace(first, second);
    else this.#moveCursor(final, Math.max(1, first));
  }

  /** Acts on ESC 7 and ESC 8, which keep and restore the place of the cursor, and ESC c. */
  escape(rest: string): void {
    if (rest === '7') this.#moveCursor('s', 1);
    else if (rest === '8') this.#moveCursor('u', 1);
    else if (rest === 'M') this.#moveCursor('A', 1);
    else if (rest === 'c') this.#clear();
  }

  /** Passes on the most of a very long text at the end. Returns how much. */
  #passBeginning(text: string): number {
    const length = text.length - MOST_COLUMNS;
    if (length < MOST_COLUMNS || !this.isAtEnd()) return 0;
    this.#openCells(0);
    this.flush();
    this.#pass(text.slice(0, length));
    return length;
  }

  get #row(): Row {
    return this.#rows[this.#at] as Row;
  }

  #moveCursor(final: string, n: number): void {
    const [at, column] = [this.#at, this.#column];
    if (final === 'A') this.#goTo(at - n, column);
    else if (final === 'B') this.#goDown(n, column);
    else if (final === 'C') this.#goTo(at, column + n);
    else if (final === 'D') this.#goTo(at, column - n);
    else if (final === 'E') this.#goDown(n, 0);
    else if (final === 'F') this.#goTo(at - n, 0);
    else if (final === 'G') this.#goTo(at, n - 1);
    else if (final === 's') this.#saved = { at, column };
    else if (final === 'u') this.#goTo(this.#saved.at, this.#saved.column);
  }

  #goTo(at: number, column: number): void {
    this.#at = Math.max(0, Math.min(at, this.#rows.length - 1));
    this.#column = Math.max(0, Math.min(column, MOST_COLUMNS - 1));
  }

  /**
   * Goes to a place of the whole screen. What was written before a program drew a screen of its own
   * stays above it.
   */
  #goToPlace(row: number, column: number): void {
    if (!this.#isCleared) this.#clear();
    this.#goTo(0, 0);
    this.#goDown(Math.max(1, row) - 1, Math.max(1, column) - 1);
  }

  /** Goes down as on a screen that is not full yet. */
  #goDown(n: number, column: number): void {
    const at = Math.min(this.#at + n, MOST_ROWS - 1);
    while (this.#rows.length <= at) this.#rows.push(newRow());
    this.#goTo(at, column);
  }

  #clear(): void {
    const isBlank = this.#rows.every(({ cells }) => cells.length === 0);
    this.#at = this.#rows.length - 1;
    const isOpen = this.#row.cells.length > 0;
    if (!isBlank) this.flush();
    if (isOpen) this.#pass('\n');
    this.#rows = [newRow()];
    this.#goTo(0, 0);
    this.#isCleared = true;
  }

  #eraseInLine(how: number): void {
    const row = this.#row;
    const end = how === 1 ? Math.min(this.#column + 1, row.cells.length) : row.cells.length;
    const start = how === 0 ? Math.min(this.#column, end) : 0;
    splitCells(row.cells, start);
    splitCells(row.cells, end);
    row.isRedrawn = true;
    if (end === row.cells.length) row.cells.length = start;
    else row.cells.fill(' ', start, end);
  }

  #eraseInScreen(how: number): void {
    if (how === 2) this.#clear();
    if (how > 1) return;
    this.#eraseInLine(how);
    const others = how === 0 ? this.#rows.slice(this.#at + 1) : this.#rows.slice(0, this.#at);
    for (const row of others) [row.cells, row.isRedrawn] = [[], true];
  }

  /** Makes room for `width` cells at the cursor, and returns the cells of its row. */
  #openCells(width: number): string[] {
    const row = this.#row;
    while (row.cells.length < this.#column) row.cells.push(' ');
    if (this.#column === row.cells.length) return row.cells;
    splitCells(row.cells, this.#column);
    splitCells(row.cells, this.#column + width);
    row.isRedrawn = true;
    return row.cells;
  }

  #joinMark(mark: string): void {
    const { cells } = this.#row;
    let lead = Math.min(this.#column, cells.length) - 1;
    while (lead > 0 && cells[lead] === '') lead -= 1;
    if (lead < 0) this.put(mark, 1);
    else if ((cells[lead] ?? '').length < MOST_OF_CELL) cells[lead] += mark;
  }

  #addRow(continues: boolean): void {
    this.#rows.splice(this.#at + 1, 0, newRow(continues));
    this.#goTo(this.#at + 1, 0);
    while (this.#rows.length > MOST_ROWS) {
      const first = this.#rows.shift() as Row;
      this.#pass(textOf(first, this.#rows[0]));
      this.#at = Math.max(0, this.#at - 1);
      this.#saved = { ...this.#saved, at: Math.max(0, this.#saved.at - 1) };
    }
  }
}

/** Blanks a wide character or a tab that `at` would cut in two. */
function splitCells(cells: string[], at: number): void {
  if (cells[at] !== '') return;
  let lead = at;
  while (lead > 0 && cells[lead] === '') lead -= 1;
  for (let n = lead; n < cells.length && (n === lead || cells[n] === ''); n++) cells[n] = ' ';
}

/** Blanks at the end of a row that was drawn again are what an erased text leaves. */
function textOf({ cells, isRedrawn }: Row, next: Row | undefined): string {
  if (next?.continues === true) return cells.join('');
  let end = cells.length;
  if (isRedrawn) while (cells[end - 1] === ' ') end -= 1;
  return `${cells.slice(0, end).join('')}${next === undefined ? '' : '\n'}`;
}
