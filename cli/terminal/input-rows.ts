// Lays out what a person types in rows, with the cursor: wrapped by width, and only the newest rows
// if there are too many. Pure.
import { showUnseen } from '../../system/text.ts';
import type { CursorPlace } from './bottom-area.ts';
import { displayWidth, splitGraphemes, graphemeWidth } from '../../client/render/width.ts';

type Typed = { readonly text: string; readonly cursor: number };

export type InputLook = {
  /** Text before the first row; further rows begin below its end. */
  readonly prompt: string;
  readonly columns: number;
  readonly most: number;
};

export function inputRows(
  typed: Typed,
  { prompt, columns, most }: InputLook,
): { readonly rows: readonly string[]; readonly cursor: CursorPlace } {
  const room = Math.max(4, columns - 1);
  const wide = displayWidth(prompt);
  const inset = wide <= room / 2 ? wide : 0;
  const { text, cursor, isCut } = partAround(typed, most * columns);
  const rows = [isCut ? ' '.repeat(inset) : prompt];
  let column = isCut ? inset : wide;
  let place: CursorPlace | null = null;
  let at = 0;
  const next = (): void => {
    rows.push(' '.repeat(inset));
    column = inset;
  };
  for (const one of splitGraphemes(text)) {
    const glyph = one === '\t' ? '    ' : showUnseen(one);
    const width = one === '\n' ? 0 : glyph === one ? graphemeWidth(one) : displayWidth(glyph);
    if (column + width >= room && one !== '\n') next();
    if (at === cursor) place = { row: rows.length - 1, column };
    at += one.length;
    if (one === '\n') next();
    else {
      rows[rows.length - 1] += glyph;
      column += width;
    }
  }
  const end = place ?? { row: rows.length - 1, column };
  const from = Math.max(0, Math.min(end.row, rows.length - most));
  return { rows: rows.slice(from, from + most), cursor: { row: end.row - from, column: end.column } };
}

/**
 * Lays out no more than what can be seen: `reach` characters before the cursor and as many behind
 * it, from the beginning of a line where one is near. `isCut`: the first row is not the text's.
 */
function partAround({ text, cursor }: Typed, reach: number): Typed & { readonly isCut: boolean } {
  const end = cursor + reach;
  const before = cursor - reach;
  if (before <= 0) return { text: text.slice(0, end), cursor, isCut: false };
  const line = text.lastIndexOf('\n', before - 1) + 1;
  const from = before - line <= reach ? line : before;
  return { text: text.slice(from, end), cursor: cursor - from, isCut: from > 0 };
}
