// Lays out what a person types in rows, with the cursor: wrapped by width, and only the newest rows
// if there are too many. Pure.
import { showUnseen } from '../../system/text.ts';
import type { Cursor } from './bottom-area.ts';
import { displayWidth, splitGraphemes, graphemeWidth } from '../../client/render/width.ts';

type Typed = { readonly text: string; readonly cursor: number };

export type InputLook = {
  /** Text before the first row; further rows begin below its end. */
  readonly prompt: string;
  readonly columns: number;
  readonly most: number;
};

export function inputRows(
  { text, cursor }: Typed,
  { prompt, columns, most }: InputLook,
): { readonly rows: readonly string[]; readonly cursor: Cursor } {
  const room = Math.max(4, columns - 1);
  const wide = displayWidth(prompt);
  const inset = wide <= room / 2 ? wide : 0;
  const rows = [prompt];
  let column = wide;
  let place: Cursor | null = null;
  let at = 0;
  const next = (): void => {
    rows.push(' '.repeat(inset));
    column = inset;
  };
  for (const one of splitGraphemes(text)) {
    const shown = one === '\t' ? '    ' : showUnseen(one);
    const width = one === '\n' ? 0 : shown === one ? graphemeWidth(one) : displayWidth(shown);
    if (column + width >= room && one !== '\n') next();
    if (at === cursor) place = { row: rows.length - 1, column };
    at += one.length;
    if (one === '\n') next();
    else {
      rows[rows.length - 1] += shown;
      column += width;
    }
  }
  const end = place ?? { row: rows.length - 1, column };
  const from = Math.max(0, Math.min(end.row, rows.length - most));
  return { rows: rows.slice(from, from + most), cursor: { row: end.row - from, column: end.column } };
}
