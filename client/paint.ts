// Colours, where there is a terminal that shows them and nobody asked for none; and lines that fit.
import { showUnseen } from '../system/text.ts';

export type Paint = {
  readonly on: boolean;
  /** Of the terminal that is written to; null where there is none. */
  columns(): number | null;
  dim(text: string): string;
  bold(text: string): string;
  italic(text: string): string;
  underline(text: string): string;
  red(text: string): string;
  green(text: string): string;
  yellow(text: string): string;
  cyan(text: string): string;
};

type Stream = { readonly isTTY?: boolean | undefined; readonly columns?: number | undefined };

/** `NO_COLOR` set to anything, or TERM=dumb, turns them off. */
export function paint(stream: Stream, env: Readonly<Record<string, string | undefined>>): Paint {
  const isTerminal = stream.isTTY === true;
  // A terminal that does not know its size says 0.
  const columns = (): number | null => (isTerminal ? stream.columns || COLUMNS : null);
  return createPaint(isTerminal && !env['NO_COLOR'] && env['TERM'] !== 'dumb', columns);
}

/** Of a terminal that nobody knows more about. */
export const COLUMNS = 80;

export function createPaint(on: boolean, columns: () => number | null = () => null): Paint {
  const style =
    (code: number, end: number) =>
    (text: string): string =>
      on && text !== '' ? `\u001b[${code}m${text}\u001b[${end}m` : text;
  return {
    on,
    columns,
    dim: style(2, 22),
    bold: style(1, 22),
    italic: style(3, 23),
    underline: style(4, 24),
    red: style(31, 39),
    green: style(32, 39),
    yellow: style(33, 39),
    cyan: style(36, 39),
  };
}

/** On one line, at most `most` characters; cut between two words where one ends near. */
export function oneLine(text: string, most: number): string {
  const { shown, left } = cutLine(text, most);
  return left === 0 ? shown : `${beforeWord(Array.from(shown), most - 1)}…`;
}

/** Characters that are given up for a whole word. */
const WORD = 24;

/** The first `most` of them, without the beginning of a word that does not fit. */
function beforeWord(characters: readonly string[], most: number): string {
  const kept = characters.slice(0, most);
  const blank = kept.lastIndexOf(' ');
  const inWord = characters[most] !== undefined && characters[most] !== ' ';
  const whole = inWord && blank > most / 2 && most - blank <= WORD ? kept.slice(0, blank) : kept;
  return whole.join('').trimEnd();
}

/** On one line; what goes beyond `most` characters is cut, and it is said how much. */
export function cutMeasured(text: string, most: number): string {
  const { shown, left } = cutLine(text, most);
  return left === 0 ? shown : `${shown}… (+${left.toLocaleString('en')} characters)`;
}

/** `left`: characters of `text` that are not in `shown`. */
function cutLine(text: string, most: number): { readonly shown: string; readonly left: number } {
  const looked = text.slice(0, most * 4);
  const line = Array.from(showUnseen(looked).trim().replace(/\s+/g, ' '));
  const beyond = text.length - looked.length;
  if (line.length <= most && beyond === 0) return { shown: line.join(''), left: 0 };
  // Once more: a joiner whose second half was cut off joins nothing.
  return { shown: showUnseen(line.slice(0, most).join('')), left: Math.max(0, line.length - most) + beyond };
}

const escaped = (unseen: string): string => `\\u${unseen.charCodeAt(0).toString(16).padStart(4, '0')}`;

/**
 * Whoever pastes it means the path, whatever it holds. A terminal sees none of its control
 * characters.
 */
export function shellWord(text: string): string {
  if (/\p{Cc}/u.test(text)) return `$'${text.replaceAll(/[\\']/g, String.raw`\$&`).replaceAll(/\p{Cc}/gu, escaped)}'`;
  return /^[\w./@:+-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
