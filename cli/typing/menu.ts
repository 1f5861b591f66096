// A question that one key answers: its rows, and what a key does to it. Pure.
import { truncateToWidth, wrapLine } from '../../client/faces/basics.ts';
import { latinKey } from './latin-key.ts';
import type { KeyPress } from './line-editor.ts';

export type MenuOption = {
  /** The answer that the option gives. */
  readonly answer: string;
  readonly words: string;
  /** Keys that give it at once; its number does so too. */
  readonly keys?: readonly string[];
};

export type Menu = {
  readonly heading: string;
  readonly options: readonly MenuOption[];
  /** The answer that Escape gives; absent: Escape does nothing. */
  readonly escape?: string;
  /** The person has just asked for it, so that it appears at once. */
  readonly isOwn?: true;
};

type MenuPress = { readonly at: number; readonly answer: string | null };

/** Returns the option that is marked after the key, or the answer that the key gave. */
export function pressMenuKey(
  { options, escape }: Menu,
  at: number,
  typed: string | undefined,
  { name, ctrl = false, meta = false, together = false }: KeyPress,
): MenuPress {
  // A paste and a chord were meant for something else.
  if (ctrl || meta || together || name === 'paste') return { at, answer: null };
  if (name === 'escape') return { at, answer: escape ?? null };
  if (name === 'return') return { at, answer: options[at]?.answer ?? null };
  if (name === 'up') return { at: (at + options.length - 1) % options.length, answer: null };
  if (name === 'down') return { at: (at + 1) % options.length, answer: null };
  const find = (key: string): MenuOption | undefined =>
    options.find(({ keys = [] }, index) => key === String(index + 1) || keys.includes(key));
  const chosen = find(latinKey(typed ?? '', (key) => find(key) !== undefined) ?? '');
  return { at, answer: chosen?.answer ?? null };
}

type MenuLook = {
  readonly columns: number;
  readonly style: (text: string) => string;
};

/** Returns the heading and a row for each option, the marked one with a pointer. */
export function menuRows(
  { heading, options }: Menu,
  at: number | null,
  { columns, style }: MenuLook,
): readonly string[] {
  const rows = options.map(({ words }, index) => {
    const row = truncateToWidth(`${index === at ? '▸' : ' '} ${index + 1} ${words}`, columns - 2);
    return ` ${index === at ? style(row) : row}`;
  });
  return [...headingRows(heading, columns - 2).map((row) => ` ${row}`), ...rows];
}

const MOST_HEADING_ROWS = 4;

/** Why it is asked stands at the end of a heading: it is wrapped before it is cut. */
function headingRows(heading: string, columns: number): readonly string[] {
  const rows = wrapLine(heading, { columns });
  if (rows.length <= MOST_HEADING_ROWS) return rows;
  const last = rows.slice(MOST_HEADING_ROWS - 1).join(' ');
  return [...rows.slice(0, MOST_HEADING_ROWS - 1), truncateToWidth(last, columns)];
}
