// Manages the rows at the bottom of a terminal that may still change: streaming text, waiting
// messages, the status, what is typed. Permanent output goes above them, through this area. The
// rows are drawn over themselves without clearing, so that nothing flickers.
import { truncateToWidth, displayWidth } from '../../client/render/width.ts';

/** Parts from top to bottom. */
const PARTS = ['said', 'calls', 'queued', 'status', 'input', 'footer'] as const;
export type AreaPart = (typeof PARTS)[number];

/** `row` and `column` count from 0 within the part. */
export type CursorPlace = { readonly row: number; readonly column: number };

export type BottomArea = {
  /** Shows rows with our colours, cut to the terminal's width; an empty list removes the part. */
  show(part: AreaPart, rows: readonly string[], cursor?: CursorPlace): void;
  /** Writes `text` with `write`, above the rows. */
  above(text: string, write: (text: string) => void): void;
  /** Draws once, after `act`, everything that it shows and writes. */
  together(act: () => void): void;
  /**
   * Stops drawing until the returned function is called, while something else writes at the bottom.
   */
  hide(): () => void;
  /**
   * Stops drawing and holds output back until the returned function is called, while another
   * program has the terminal.
   */
  hold(): () => void;
  /** Must be called when the terminal has another size. */
  resized(): void;
};

type Terminal = {
  readonly write: (text: string) => unknown;
  readonly columns: () => number;
  readonly rows: () => number;
};

/** Marks output that a terminal with support shows at once. */
const BEGIN = '\u001b[?2026h';
const END = '\u001b[?2026l';
const NARROWEST = 12;

type DrawnRows = { readonly rows: readonly string[]; readonly cursor: CursorPlace };
type HeldOutput = { readonly text: string; readonly write: (text: string) => void };

export function createBottomArea({ write, columns, rows: height }: Terminal): BottomArea {
  const parts = new Map<AreaPart, { readonly rows: readonly string[]; readonly cursor?: CursorPlace | undefined }>();
  let drawn: DrawnRows | null = null;
  let atStart = true;
  let hiders = 0;
  let holders = 0;
  let batches = 0;
  const held: HeldOutput[] = [];
  const wanted = (): DrawnRows | null => {
    if (!atStart || hiders > 0 || holders > 0 || columns() < NARROWEST) return null;
    return composeRows(parts, { columns: columns(), height: height() });
  };
  const draw = (): void => {
    if (batches > 0) return;
    const next = wanted();
    if (isSame(next, drawn)) return;
    write(BEGIN + toTop(drawn, columns()) + textOf(next, drawn) + END);
    drawn = next;
  };
  const erase = (): void => {
    if (drawn !== null) write(`${BEGIN}${toTop(drawn, columns())}\u001b[J`);
    drawn = null;
  };
  const area: BottomArea = {
    show: (part, rows, cursor) => {
      parts.set(part, { rows, cursor });
      draw();
    },
    above: (text, writeText) => {
      if (text === '') return;
      if (holders > 0) return void held.push({ text, write: writeText });
      const was = drawn !== null;
      erase();
      writeText(text);
      atStart = text.endsWith('\n');
      draw();
      if (was && drawn === null && batches === 0) write(END);
    },
    together: (act) => {
      batches += 1;
      const was = drawn !== null;
      try {
        act();
      } finally {
        batches -= 1;
        draw();
        if (was && drawn === null) write(END);
      }
    },
    hide: () => {
      hiders += 1;
      const was = drawn !== null;
      erase();
      if (was) write(END);
      return callOnce(() => {
        hiders -= 1;
        draw();
      });
    },
    hold: () => {
      const show = area.hide();
      holders += 1;
      return callOnce(() => {
        holders -= 1;
        for (const { text, write: writeText } of holders > 0 ? [] : held.splice(0)) area.above(text, writeText);
        show();
      });
    },
    resized: () => {
      const was = drawn !== null;
      erase();
      if (was) write(END);
      draw();
    },
  };
  return area;
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
  parts: ReadonlyMap<AreaPart, { readonly rows: readonly string[]; readonly cursor?: CursorPlace | undefined }>,
  { columns, height }: { readonly columns: number; readonly height: number },
): DrawnRows | null {
  const all: string[] = [];
  let cursor: CursorPlace | null = null;
  for (const part of PARTS) {
    const shown = parts.get(part);
    if (shown?.cursor) cursor = { row: all.length + shown.cursor.row, column: shown.cursor.column };
    all.push(...(shown?.rows ?? []));
  }
  if (all.length === 0) return null;
  const most = Math.max(1, height - 1);
  const above = Math.max(0, all.length - most);
  // One column stays free: a full line would wrap.
  const rows = all.slice(above).map((row) => truncateToWidth(row, columns - 1));
  const end = { row: rows.length - 1, column: displayWidth(rows.at(-1) ?? '') };
  if (cursor === null) return { rows, cursor: end };
  return { rows, cursor: { row: Math.max(0, cursor.row - above), column: Math.min(cursor.column, columns - 1) } };
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
  const broken = (width: number): number => Math.max(1, Math.ceil(width / columns));
  const before = rows.slice(0, cursor.row).reduce((sum, row) => sum + broken(displayWidth(row)), 0);
  return moveUp(before + Math.floor(cursor.column / columns));
}

const moveUp = (rows: number): string => `${rows > 0 ? `\u001b[${rows}A` : ''}\r`;

function textOf(next: DrawnRows | null, before: DrawnRows | null): string {
  if (next === null) return '\u001b[J';
  const { rows, cursor } = next;
  const shorter = before !== null && before.rows.length > rows.length ? '\u001b[J' : '';
  const text = rows.map((row) => `${row}\u001b[K`).join('\n') + shorter;
  return `${text}${moveUp(rows.length - 1 - cursor.row)}${cursor.column > 0 ? `\u001b[${cursor.column}C` : ''}`;
}
