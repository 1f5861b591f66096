// Writes to a terminal, and knows whether it is at the start of a line.

export type LinePen = {
  text(words: string, style?: (words: string) => string): void;
  /** Goes to a new line, unless it is at the start of one. */
  fresh(): void;
  line(words: string): void;
};

export function linePen(write: (text: string) => void): LinePen {
  let atStart = true;
  const pen: LinePen = {
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
