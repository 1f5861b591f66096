// Colours for terminals that show them unless the user turned them off, and lines cut to fit.
import { showUnseen } from '../system/text.ts';

export type Paint = {
  readonly on: boolean;
  /** Width of the terminal that is written to; null without one. */
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

/** Tells whether lines are printed in order and none is drawn again: `--plain`, or TERM=dumb. */
export function isPlain(env: Readonly<Record<string, string | undefined>>): boolean {
  return !['', '0', undefined].includes(env['PERDURE_PLAIN']) || env['TERM'] === 'dumb';
}

/** Detects colours and width. Any `NO_COLOR` turns colours off, as does a plain terminal. */
export function detectPaint(stream: Stream, env: Readonly<Record<string, string | undefined>>): Paint {
  const isTerminal = stream.isTTY === true;
  // A terminal that does not know its size says 0.
  const columns = (): number | null => (isTerminal ? stream.columns || COLUMNS : null);
  return createPaint(isTerminal && !env['NO_COLOR'] && !isPlain(env), columns);
}

/** Width of a terminal that does not report one. */
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

/** Puts a text on one line of at most `most` characters, cut between two words if a gap is near. */
export function oneLine(text: string, most: number): string {
  const { visible, left } = truncateLine(text, most);
  return left === 0 ? visible : `${beforeWord(Array.from(visible), most - 1)}…`;
}

/** Characters given up to avoid cutting a word. */
const WORD = 24;

/** Returns the first `most` characters without the beginning of a word that does not fit. */
function beforeWord(characters: readonly string[], most: number): string {
  const start = characters.slice(0, most);
  const blank = start.lastIndexOf(' ');
  const inWord = characters[most] !== undefined && characters[most] !== ' ';
  const whole = inWord && blank > most / 2 && most - blank <= WORD ? start.slice(0, blank) : start;
  return whole.join('').trimEnd();
}

/** Puts a text on one line, cut at `most` characters, and says how many are left out. */
export function truncateWithCount(text: string, most: number): string {
  const { visible, left } = truncateLine(text, most);
  return left === 0 ? visible : `${visible}… (+${left.toLocaleString('en')} characters)`;
}

/** `left` counts the characters of `text` that are not in `visible`. */
function truncateLine(text: string, most: number): { readonly visible: string; readonly left: number } {
  const looked = text.slice(0, most * 4);
  const visible = showUnseen(looked).trim().replace(/\s+/g, ' ');
  const beyond = text.length - looked.length;
  // No text has more characters than units.
  if (visible.length <= most && beyond === 0) return { visible, left: 0 };
  const line = Array.from(visible);
  if (line.length <= most && beyond === 0) return { visible, left: 0 };
  // Cleans the text once more: a joiner whose second half was cut off joins nothing.
  return { visible: showUnseen(line.slice(0, most).join('')), left: Math.max(0, line.length - most) + beyond };
}

const escapeControl = (unseen: string): string => `\\u${unseen.charCodeAt(0).toString(16).padStart(4, '0')}`;

/**
 * Quotes a text for a shell, so that a pasted command means the very path. The result has no
 * control characters that a terminal would act on.
 */
export function shellWord(text: string): string {
  if (/\p{Cc}/u.test(text))
    return `$'${text.replaceAll(/[\\']/g, String.raw`\$&`).replaceAll(/\p{Cc}/gu, escapeControl)}'`;
  return /^[\w./@:+-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
