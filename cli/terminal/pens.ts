// Writes output in one of two ways: as it comes, or rendered and wrapped on a terminal that is
// drawn on.
import type { Paint } from '../../client/face-types.ts';
import { type TextStream, textStream } from './markdown-stream.ts';
import { rowsText } from '../../client/render/width.ts';

export type Pen = {
  text(words: string, style?: (words: string) => string): void;
  /** Goes to a new line, unless it is at the start of one. */
  fresh(): void;
  line(words: string): void;
};

/** Writes text as it comes, and knows whether it is at the start of a line. */
export function linePen({ columns }: Pick<Paint, 'columns'>, write: (text: string) => void): Pen {
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

export type TerminalPen = {
  readonly columns: () => number;
  /** Writes permanent text, and below it the streaming rows that are not complete. */
  readonly put: (text: string, pending: readonly string[]) => void;
};

/**
 * Treats streaming text as Markdown, or as plain text if it has a style. Only complete rows are
 * written.
 */
export function terminalPen(paint: Paint, { columns, put }: TerminalPen): Pen {
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
