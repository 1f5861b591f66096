// A list from which a person picks: arrows move, typing searches, and the marked item has a
// preview. Pure.
import { displayWidth, truncateToWidth } from '../../client/faces/basics.ts';
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
