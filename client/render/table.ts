// Rows of text in columns.
import type { Paint } from './paint.ts';

/** Each column as wide as its widest cell, the last as it comes. Ends with a line break. */
export function table(paint: Paint, headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = headings.map((heading, column) =>
    Math.max(heading.length, ...rows.map((row) => (row[column] ?? '').length)),
  );
  const line = (cells: readonly string[]): string =>
    cells.map((cell, column) => (column === cells.length - 1 ? cell : cell.padEnd(widths[column] ?? 0))).join('  ');
  return [paint.dim(line(headings)), ...rows.map(line)].map((text) => `${text.trimEnd()}\n`).join('');
}
