// A list from which a person picks: arrows move, typing searches, and the marked item has a
// preview. Pure.
import { displayWidth, truncateToWidth, wrapLine } from '../../client/faces/basics.ts';
import { oneLine } from '../../client/faces/start.ts';
import type { KeyPress } from './line-editor.ts';

export type PickerItem = {
  /** The answer that the item gives. */
  readonly answer: string;
  readonly label: string;
  /** Words at the right end of the row. */
  readonly about: string;
  /** More text to search in. */
  readonly hidden?: string;
};

export type Picker = {
  readonly heading: string;
  /** Words for the key that picks. */
  readonly verb: string;
  readonly items: readonly PickerItem[];
  /** Reads rows about an item, such as the last words of a session. */
  readonly preview?: (answer: string) => Promise<readonly string[]>;
};

/** `at` is the index of the marked item among those that fit the query. */
export type PickerState = { readonly query: string; readonly at: number };

/** `answer` is null when the person left, and undefined while they pick. */
type PickerPress = { readonly state: PickerState; readonly answer?: string | null };

const MOST_ITEMS = 8;
const MOST_PREVIEW = 7;

export const NEW_PICK: PickerState = { query: '', at: 0 };

/** Returns the items that have every word of the query, in their order. */
function fitItems({ items }: Pick<Picker, 'items'>, query: string): readonly PickerItem[] {
  const words = query.toLowerCase().split(/\s+/);
  return items.filter(({ label, about, hidden = '' }) => {
    const text = `${label} ${about} ${hidden}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

export function findMarked(picker: Pick<Picker, 'items'>, { query, at }: PickerState): PickerItem | undefined {
  return fitItems(picker, query)[at];
}

export function pressPickerKey(
  picker: Pick<Picker, 'items'>,
  state: PickerState,
  typed: string | undefined,
  { name = '', ctrl = false, meta = false, together = false }: KeyPress,
): PickerPress {
  const { query, at } = state;
  const last = Math.max(0, fitItems(picker, query).length - 1);
  const moveTo = (to: number): PickerPress => ({ state: { query, at: Math.max(0, Math.min(last, to)) } });
  if (name === 'escape' || (ctrl && ['c', 'd', 'g'].includes(name))) return { state, answer: null };
  if (name === 'return' || name === 'enter') {
    if (together) return { state };
    const marked = findMarked(picker, state);
    return marked ? { state, answer: marked.answer } : { state };
  }
  if (name === 'up' || (ctrl && name === 'p')) return moveTo(at - 1);
  if (name === 'down' || (ctrl && name === 'n')) return moveTo(at + 1);
  if (name === 'pageup') return moveTo(at - MOST_ITEMS);
  if (name === 'pagedown') return moveTo(at + MOST_ITEMS);
  if (name === 'backspace') return { state: { query: Array.from(query).slice(0, -1).join(''), at: 0 } };
  if (ctrl && name === 'u') return { state: NEW_PICK };
  if (typed === undefined || ctrl || meta || /^\p{Cc}/u.test(typed)) return { state };
  return { state: { query: query + oneLine(typed, 200), at: 0 } };
}

type PickerLook = {
  readonly columns: number;
  readonly style: (text: string) => string;
  readonly dim: (text: string) => string;
  /** Rows about the marked item; null while they are read. */
  readonly preview: readonly string[] | null;
};

/** Returns the rows. The cursor belongs into the second, behind the query. */
export function pickerRows(picker: Picker, { query, at }: PickerState, look: PickerLook): readonly string[] {
  const { columns, style, dim, preview } = look;
  const fitting = fitItems(picker, query);
  const first = Math.max(0, Math.min(at - MOST_ITEMS + 1, fitting.length - MOST_ITEMS));
  const visible = fitting.slice(first, first + MOST_ITEMS);
  const wide = Math.max(0, ...visible.map(({ about }) => displayWidth(about)));
  const room = columns - wide - 6;
  const rows = visible.map(({ label, about }, index) => {
    const isMarked = first + index === at;
    const words = room < 20 ? about : truncateToWidth(label, room);
    const pad = ' '.repeat(Math.max(0, room - displayWidth(words)));
    const row = `${isMarked ? '▸' : ' '} ${words}${room < 20 ? '' : `${pad}  ${' '.repeat(wide - displayWidth(about))}${about}`}`;
    return ` ${isMarked ? style(row) : row}`;
  });
  const left = fitting.length - visible.length;
  const keys = `↑↓ move  ↵ ${picker.verb}  Esc leaves`;
  return [
    ` ${style(picker.heading)}  ${dim(keys)}`,
    ` search: ${query}`,
    ...(rows.length === 0 ? [dim('   (no matches)')] : rows),
    ...(left > 0 ? [dim(`   … ${left} more`)] : []),
    ...(preview === null || preview.length === 0
      ? []
      : ['', ...preview.slice(0, MOST_PREVIEW).map((row) => `   ${row}`)]),
  ].map((row) => truncateToWidth(row, columns - 1));
}

/** Columns before the query in its row. */
export const QUERY_COLUMN = ' search: '.length;

// A question that one key answers: its rows, and what a key does to it. Pure.
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

// Keys on a layout without Latin letters. A terminal sends the letter and not the place of the key,
// and layouts differ: the key of `n` gives `т` on one Cyrillic layout and `н` on another, where `н`
// is `y` on the first. A letter counts only where all layouts that have it mean the same.
const KEYS = 'qwertyuiopasdfghjklzxcvbnm';

/** Letters of the keys, in the order of KEYS; a blank where a key gives none of its own. */
const LAYOUTS: readonly string[] = [
  // Russian.
  'йцукенгшщзфывапролдячсмить',
  // Ukrainian.
  'йцукенгшщзфівапролдячсмить',
  // Bulgarian.
  ' уеишщксдзьяаожгтнвюйъэфхп',
  // Bulgarian, phonetic.
  'явертъуиопасдфгхйклзьцжбнм',
  // Russian, phonetic.
  'яшертыуиопасдфгчйклзхцвбнм',
  // Serbian.
  'љњертзуиопасдфгхјклѕџцвбнм',
  // Greek.
  ' ςερτυθιοπασδφγηξκλζχψωβνμ',
  // Hebrew.
  '  \u05e7\u05e8\u05d0\u05d8\u05d5\u05df\u05dd\u05e4\u05e9\u05d3\u05d2\u05db\u05e2\u05d9\u05d7\u05dc\u05da\u05d6\u05e1\u05d1\u05d4\u05e0\u05de\u05e6',
  // Arabic.
  '\u0636\u0635\u062b\u0642\u0641\u063a\u0639\u0647\u062e\u062d\u0634\u0633\u064a\u0628\u0644\u0627\u062a\u0646\u0645\u0626\u0621\u0624\u0631 \u0649\u0629',
  // Persian.
  '\u0636\u0635\u062b\u0642\u0641\u063a\u0639\u0647\u062e\u062d\u0634\u0633\u06cc\u0628\u0644\u0627\u062a\u0646\u0645\u0638\u0637\u0632\u0631\u0630\u062f\u067e',
  // Korean.
  'ㅂㅈㄷㄱㅅㅛㅕㅑㅐㅔㅁㄴㅇㄹㅎㅗㅓㅏㅣㅋㅌㅊㅍㅠㅜㅡ',
  // Thai.
  '\u0e46\u0e44\u0e33\u0e1e\u0e30\u0e31\u0e35\u0e23\u0e19\u0e22\u0e1f\u0e2b\u0e01\u0e14\u0e40\u0e49\u0e48\u0e32\u0e2a\u0e1c\u0e1b\u0e41\u0e2d\u0e34\u0e37\u0e17',
];

/** The digits 0 of Arabic, Persian, Devanagari and Thai; the others follow them. */
const ZEROS = [0x660, 0x6f0, 0x966, 0xe50];

/**
 * Returns the key that a typed character means among those that are `known`, in lower case. Null
 * when it means none of them, or one on one layout and another on the next.
 */
export function latinKey(typed: string, known: (key: string) => boolean): string | null {
  const letter = typed.toLowerCase();
  const meant = new Set(/^[\0-\x7f]*$/.test(letter) ? [letter] : readingsOf(letter));
  const [key, another] = [...meant].filter(known);
  return key === undefined || another !== undefined ? null : key;
}

/** Tells whether a character is a letter of another script: no key of a Latin keyboard. */
export const isForeignLetter = (typed: string): boolean => /^(?!\p{Script=Latin})[\p{L}\p{M}]/u.test(typed);

function readingsOf(letter: string): readonly string[] {
  const code = letter.codePointAt(0) ?? 0;
  const digits = ZEROS.filter((zero) => code >= zero && code <= zero + 9).map((zero) => String(code - zero));
  const letters = LAYOUTS.flatMap((layout) => {
    const at = layout.indexOf(letter);
    return at < 0 ? [] : [KEYS.charAt(at)];
  });
  return [...digits, ...letters];
}
