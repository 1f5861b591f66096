// Measures text on a terminal and makes lines fit: cut and wrapped by columns, between words where
// possible. Our colours (SGR sequences) take no room; other control characters have been replaced
// by their names before.
import { eastAsianWidth } from 'get-east-asian-width';

const PLAIN = /^[\x20-\x7e]*$/;
/* oxlint-disable-next-line no-control-regex */
const STYLE = /(\u001b\[[\d;]*m)/;
/* oxlint-disable-next-line no-control-regex */
const STYLES = /\u001b\[[\d;]*m/g;
/** Made when it is needed: most texts are plain. */
let segmenter: Intl.Segmenter | undefined;
/** A process writes to one terminal, which draws these characters in one way. */
let ambiguousAsWide = false;

/**
 * Says whether the terminal draws characters of ambiguous width (`…`, `─`, `·`, `α`) in two
 * columns, as terminals set up for East Asian text do.
 */
export function setAmbiguousWide(isWide: boolean): void {
  ambiguousAsWide = isWide;
}

const columnsOf = (character: string): number => eastAsianWidth(character.codePointAt(0) ?? 0, { ambiguousAsWide });

/** Splits a text into characters as people count them. */
export function splitGraphemes(text: string): readonly string[] {
  if (PLAIN.test(text)) return text.split('');
  segmenter ??= new Intl.Segmenter('en', { granularity: 'grapheme' });
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}

/** Returns the columns of one grapheme. */
export function graphemeWidth(grapheme: string): number {
  if (PLAIN.test(grapheme)) return grapheme.length;
  if (/^\p{Mark}/u.test(grapheme)) return 0;
  if (grapheme.includes('\ufe0f') || /^\p{Emoji_Presentation}/u.test(grapheme)) return 2;
  return columnsOf(grapheme);
}

/** Returns the columns of a line, without our colours. */
export function displayWidth(line: string): number {
  return widthOf(line, graphemeWidth);
}

function widthOf(line: string, width: (grapheme: string) => number): number {
  const text = line.split(STYLE).filter((_, at) => at % 2 === 0);
  const sum = (part: string): number => splitGraphemes(part).reduce((all, one) => all + width(one), 0);
  return text.reduce((all, part) => all + (PLAIN.test(part) ? part.length : sum(part)), 0);
}

/**
 * Returns the most columns that a grapheme takes on any terminal: many draw each part of a joined
 * picture, and spacing marks, separately.
 */
function mostWidth(grapheme: string): number {
  if (PLAIN.test(grapheme)) return grapheme.length;
  const parts = Array.from(grapheme, (part): number => {
    if (/^[\p{Mn}\p{Me}\p{Cf}]/u.test(part)) return 0;
    return /^\p{Emoji_Presentation}/u.test(part) ? 2 : columnsOf(part);
  });
  return Math.max(
    parts.reduce((sum, part) => sum + part, 0),
    graphemeWidth(grapheme),
  );
}

const mostColumns = (line: string): number => widthOf(line, mostWidth);

/** Cuts a line to at most `columns`, with its colours; `…` replaces the rest. */
export function truncateToWidth(line: string, columns: number): string {
  if (line.length <= columns && PLAIN.test(line)) return line;
  if (mostColumns(line) <= columns) return line;
  let room = columns - graphemeWidth('…');
  let text = '';
  for (const [at, part] of line.split(STYLE).entries()) {
    // Keep the styles behind the cut, so that they end there too.
    if (at % 2 === 1) text += part;
    else if (room >= 0) {
      for (const one of splitGraphemes(part)) {
        room -= mostWidth(one);
        if (room >= 0) text += one;
        else break;
      }
      if (room < 0) text += '…';
    }
  }
  return text;
}

type Wrapping = {
  readonly columns: number;
  /** Prefix of the rows after the first. */
  readonly hang?: string;
};

/** Splits a text without colours into pieces of at most `columns`; returns at least one. */
export function piecesOf(text: string, columns: number): readonly string[] {
  const pieces: string[] = [];
  let piece = '';
  let width = 0;
  for (const one of splitGraphemes(text)) {
    const wide = mostWidth(one);
    if (width + wide > columns && piece !== '') {
      pieces.push(piece);
      [piece, width] = ['', 0];
    }
    piece += one;
    width += wide;
  }
  return [...pieces, piece];
}

/** Prefix of a row that continues the one above, whatever its text looks like. */
const CONTINUED = '↪ ';

/**
 * Splits a line into rows of a terminal and marks those after the first. Without a terminal the
 * line stays as it is.
 */
export function markRows(columns: number | null, line: string): readonly string[] {
  if (columns === null) return [line];
  const [inset = ''] = /^ {0,4}/.exec(line.replaceAll(STYLES, '')) ?? [];
  // One column stays free, since a full row wraps on some terminals.
  return wrapLine(line.replaceAll('\t', '    '), { columns: columns - 1, hang: `${inset}${CONTINUED}` });
}

/** Does the same for several lines and ends each row with a line break. */
export function rowsText(columns: number | null, lines: string): string {
  return lines
    .split('\n')
    .flatMap((line) => markRows(columns, line))
    .map((row) => `${row}\n`)
    .join('');
}

/**
 * Wraps a line into rows of at most `columns`, between words; a word that is wider than a row is
 * broken inside. Styles continue over rows.
 */
export function wrapLine(line: string, { columns, hang = '' }: Wrapping): readonly string[] {
  if (columns < 2 || (line.length <= columns && PLAIN.test(line)) || mostColumns(line) <= columns) return [line];
  const rows: string[] = [];
  const inset = displayWidth(hang) < columns / 2 ? hang : '';
  const room = columns - displayWidth(inset);
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
      for (const piece of token.width > room ? splitGraphemes(token.text) : [token.text]) {
        const wide = mostColumns(piece);
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
        else if (word !== undefined) yield { kind: 'word', text: word, width: mostColumns(word) };
      }
  }
}
