// How much room text takes on a terminal, and lines that fit: cut and wrapped by columns, between words where there are any. Colours of ours
// (SGR sequences) take no room; whatever else would act on a terminal has been shown by its name before.
import { eastAsianWidth } from 'get-east-asian-width';

const PLAIN = /^[\x20-\x7e]*$/;
/* oxlint-disable-next-line no-control-regex */
const STYLE = /(\u001b\[[\d;]*m)/;
const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** The characters as people count them. */
export function graphemes(text: string): readonly string[] {
  return PLAIN.test(text) ? text.split('') : Array.from(segmenter.segment(text), ({ segment }) => segment);
}

/** Columns of one of them. */
export function graphemeWidth(grapheme: string): number {
  if (PLAIN.test(grapheme)) return grapheme.length;
  if (/^\p{Mark}/u.test(grapheme)) return 0;
  if (grapheme.includes('\ufe0f') || /^\p{Emoji_Presentation}/u.test(grapheme)) return 2;
  return eastAsianWidth(grapheme.codePointAt(0) ?? 0);
}

/** Columns of a line, colours of ours left out. */
export function displayWidth(line: string): number {
  const text = line.split(STYLE).filter((_, at) => at % 2 === 0);
  return text.reduce((sum, part) => sum + (PLAIN.test(part) ? part.length : widthOf(graphemes(part))), 0);
}

const widthOf = (all: readonly string[]): number => all.reduce((sum, one) => sum + graphemeWidth(one), 0);

/** At most `columns` wide, with its colours; `…` stands for what is cut. */
export function cutToWidth(line: string, columns: number): string {
  if (line.length <= columns && PLAIN.test(line)) return line;
  if (displayWidth(line) <= columns) return line;
  let room = columns - 1;
  let kept = '';
  for (const [at, part] of line.split(STYLE).entries()) {
    // Styles that end behind the cut end there too.
    if (at % 2 === 1) kept += part;
    else if (room >= 0) {
      for (const one of graphemes(part)) {
        room -= graphemeWidth(one);
        if (room >= 0) kept += one;
        else break;
      }
      if (room < 0) kept += '…';
    }
  }
  return kept;
}

export type Wrapping = {
  readonly columns: number;
  /** Before the rows after the first. */
  readonly hang?: string;
};

/** Rows of at most `columns`, broken between words; a word that is wider than a row is broken where it has to be. Styles go on over rows. */
export function wrapLine(line: string, { columns, hang = '' }: Wrapping): readonly string[] {
  if (columns < 2 || (line.length <= columns && PLAIN.test(line)) || displayWidth(line) <= columns) return [line];
  const rows: string[] = [];
  const inset = displayWidth(hang) < columns / 2 ? hang : '';
  let row = '';
  let width = 0;
  let blank = '';
  const next = (): void => {
    rows.push(row);
    row = inset;
    width = displayWidth(inset);
    blank = '';
  };
  for (const token of tokensOf(line)) {
    if (token.kind === 'style') row += token.text;
    else if (token.kind === 'blank') blank += token.text;
    else if (token.kind === 'word') {
      if (width + blank.length + token.width > columns && width > displayWidth(inset)) next();
      row += blank;
      width += blank.length;
      blank = '';
      for (const piece of token.width > columns ? graphemes(token.text) : [token.text]) {
        const wide = displayWidth(piece);
        if (width + wide > columns && width > displayWidth(inset)) next();
        row += piece;
        width += wide;
      }
    }
  }
  return [...rows, row];
}

type Token =
  | { readonly kind: 'style' | 'blank'; readonly text: string }
  | { readonly kind: 'word'; readonly text: string; readonly width: number };

function* tokensOf(line: string): Iterable<Token> {
  for (const [at, part] of line.split(STYLE).entries()) {
    if (at % 2 === 1) yield { kind: 'style', text: part };
    else
      for (const [, blank, word] of part.matchAll(/( +)|([^ ]+)/g)) {
        if (blank !== undefined) yield { kind: 'blank', text: blank };
        else if (word !== undefined) yield { kind: 'word', text: word, width: displayWidth(word) };
      }
  }
}
