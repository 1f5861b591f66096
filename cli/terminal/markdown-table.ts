// Renders a Markdown table on a terminal: in columns where it fits, else as it was written. Also
// defines how marked words look. Pure.
import type { Paint, TextMark } from '../../client/face-types.ts';
import { inlineSpans } from '../../client/render/inline-markdown.ts';
import { displayWidth, wrapLine } from '../../client/render/width.ts';

export const LOOKS: Readonly<Record<TextMark, (paint: Paint) => (text: string) => string>> = {
  strong: (paint) => paint.bold,
  emphasis: (paint) => paint.italic,
  struck: (paint) => paint.dim,
  code: (paint) => paint.cyan,
  link: (paint) => paint.underline,
  target: (paint) => paint.dim,
};

type Room = { readonly paint: Paint; readonly columns: number };

export const isTableRow = (line: string): boolean => line.length > 1 && line.startsWith('|') && line.endsWith('|');

/** `lines` has the whole table, each line a row as written. */
export function tableRows(lines: readonly string[], { paint, columns }: Room): readonly string[] {
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
