// How what happens is written: as it comes, where nobody draws; or on a terminal that is drawn on, rendered and wrapped.
import type { Paint } from '../../paint.ts';
import { type TextStream, textStream } from './markdown-stream.ts';
import { wrapLine } from './width.ts';

export type Pen = {
  text(words: string, style?: (words: string) => string): void;
  /** Goes to a new line, unless it is at the start of one. */
  fresh(): void;
  line(words: string): void;
};

/** Text as it comes; it knows whether it is at the start of a line. */
export function linePen(write: (text: string) => void): Pen {
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
      pen.text(`${words}\n`);
    },
  };
  return pen;
}

export type TerminalPen = {
  readonly columns: () => number;
  /** Writes text for good, and below it the rows of what streams and is not complete. */
  readonly put: (text: string, pending: readonly string[]) => void;
};

/** What streams is Markdown; in a style it is plain text. Only complete rows are written. */
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
      const rows = words.split('\n').flatMap((line) => wrapLine(line, { columns: columns() - 1, hang: hangOf(line) }));
      put(textOf(rows), []);
    },
  };
}

/* oxlint-disable-next-line no-control-regex */
const STYLES = /\u001b\[[\d;]*m/g;

/** Rows of a result go on below its mark, others a little to the right. */
function hangOf(line: string): string {
  const plain = line.replaceAll(STYLES, '').slice(0, 8);
  return /^ {2}[│✗┊↪] /.test(plain) ? '    ' : '  ';
}
