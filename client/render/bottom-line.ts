// A line at the bottom of a terminal that tells what goes on and goes away again. All that is written goes above it: whoever writes does so
// through here. It is drawn only where a line begins, so that text which streams is never cut.

export type BottomLine = {
  /** The text of the line, or null for none. It is cut to the terminal's width. */
  show(text: string | null): void;
  /** Writes `text` with `write`, above the line. */
  above(text: string, write: (text: string) => void): void;
  /** Nothing is drawn until what it returns is called: a person is asked. */
  hide(): () => void;
};

type Terminal = {
  readonly write: (text: string) => unknown;
  readonly columns: () => number;
  readonly style: (text: string) => string;
};

const ERASE = '\r\u001b[2K';

export function bottomLine({ write, columns, style }: Terminal): BottomLine {
  let text: string | null = null;
  let drawn: string | null = null;
  let atStart = true;
  let hiders = 0;
  const redraw = (): void => {
    const next = text === null || !atStart || hiders > 0 ? null : fit(text, columns());
    if (next === drawn) return;
    write(`${drawn === null ? '' : ERASE}${style(next ?? '')}`);
    drawn = next;
  };
  return {
    show: (next) => {
      text = next;
      redraw();
    },
    above: (words, writeWords) => {
      if (words === '') return;
      if (drawn !== null) write(ERASE);
      drawn = null;
      writeWords(words);
      atStart = words.endsWith('\n');
      redraw();
    },
    hide: () => {
      let isOver = false;
      hiders += 1;
      redraw();
      return () => {
        if (isOver) return;
        isOver = true;
        hiders -= 1;
        redraw();
      };
    },
  };
}

/** One column is left free: a full line would wrap, and could not be erased. */
function fit(text: string, columns: number): string | null {
  const most = columns - 1;
  const characters = Array.from(text);
  if (most < 10) return null;
  return characters.length <= most ? text : `${characters.slice(0, most - 1).join('')}…`;
}
