// The rows at the bottom in which a person types. Typed text is kept until it is sent, and a
// question waits for that.
import { reasonOf, showUnseen } from '../../system/text.ts';
import type { BottomArea, CursorPlace } from '../terminal/bottom-area.ts';
import { truncateToWidth, displayWidth, splitGraphemes, graphemeWidth } from '../../client/faces/basics.ts';
import { oneLine } from '../../client/faces/start.ts';
import { acceptOffer, moveOffer, type OfferedCompletions, offerRows } from './completion.ts';
import type { Hands, Input, Keyboard } from './input.ts';
import {
  findMarked,
  type Menu,
  menuRows,
  type Picker,
  pickerRows,
  pressMenuKey,
  pressPickerKey,
  QUERY_COLUMN,
} from './picker.ts';
import { isActInMenu, type MenuQuestion, newPick, type PickQuestion, QuestionQueue } from './question-queue.ts';
import { type Act, type Editor, fullText, type KeyPress, newEditor, pressKey, clearSent } from './line-editor.ts';

export type TypingPlace = {
  readonly area: BottomArea;
  readonly keyboard: Keyboard;
  readonly columns: () => number;
  readonly style: (prompt: string) => string;
  /** Style of a suggestion. */
  readonly dim: (text: string) => string;
  /** Prints an answered question, which stays on the screen. */
  readonly say: (line: string) => void;
  /** Runs the person's own editor on a terminal of its own. */
  readonly runEditor: (text: string) => Promise<string | null>;
  /** Suspends the process as Ctrl-Z does; resolves when it continues. */
  readonly suspend: () => Promise<void>;
};

/**
 * Keys typed before there was a row arrive at once, with Enter as the terminal reported it then.
 */
const EARLY_MS = 150;
const MOST_ROWS = 8;
const NOT_PASTED = 'not taken: pasted text does not answer a question';
const WAITS = '(a question waits until this line is sent, or cleared with Ctrl-U)';

export function openTypedRows(place: TypingPlace, hands: Hands): Input {
  return new TypedRows(place, hands);
}

class TypedRows implements Input {
  readonly #place: TypingPlace;
  readonly #hands: Hands;
  readonly #openedAt = Date.now();
  readonly #questions = new QuestionQueue({ isFree: () => this.#editor.text === '', draw: () => this.#draw() });
  readonly #acts: Readonly<Record<Act, () => void>>;
  #editor: Editor;
  #suggestion: string | null = null;
  #search: HistorySearch | null = null;
  #offered: OfferedCompletions | null = null;
  #isClosed = false;

  constructor(place: TypingPlace, hands: Hands) {
    this.#place = place;
    this.#hands = hands;
    this.#editor = newEditor(hands.history);
    this.#acts = {
      send: () => this.#submit(false),
      now: () => this.#submit(true),
      interrupt: hands.interrupt,
      leave: hands.leave,
      suspend: () => void this.#outside(place.suspend),
      redraw: () => place.area.resize(),
      edit: () => void (this.#questions.shown ? undefined : this.#editOutside()),
      escape: () => {
        const { shown: question } = this.#questions;
        if (question?.kind === 'line' && question.escape !== undefined) this.#questions.answer(question.escape);
        else if (this.#offered) this.#offered = null;
        else hands.escape?.(this.#editor.text === '');
      },
      output: () => hands.showOutput?.(),
      mode: () => hands.nextMode?.(),
      search: () => {
        const { history } = this.#editor;
        if (!this.#questions.shown && history.length > 0) this.#search = beginSearch(history);
      },
    };
    place.keyboard.start(this.#onKey);
    this.#draw();
  }

  readonly ask: Input['ask'] = (words, signal, escape) =>
    this.#questions.put({ kind: 'line', words, escape, editor: newEditor() }, signal);

  readonly pick = (menu: Menu, signal: AbortSignal): Promise<string | null> =>
    this.#questions.put({ kind: 'menu', menu, at: 0 }, signal);

  readonly choose = (picker: Picker, signal: AbortSignal): Promise<string | null> =>
    this.#questions.put(newPick(picker), signal);

  suggest(text: string | null): void {
    if (text === this.#suggestion) return;
    this.#suggestion = text;
    this.#draw();
  }

  write(text: string): void {
    this.#editor = newEditor(this.#editor.history, text);
    this.#draw();
  }

  edit(text: string): Promise<string | null> {
    return this.#outside(() => this.#place.runEditor(text));
  }

  close(): string {
    this.#isClosed = true;
    this.#place.keyboard.stop();
    this.#place.area.show('input', []);
    this.#questions.close();
    return fullText(this.#editor);
  }

  /** The editor of a question that a line answers, or that of the message. */
  get #asked(): Editor {
    const { shown: question } = this.#questions;
    return question?.kind === 'line' ? question.editor : this.#editor;
  }

  #draw(): void {
    const { shown: question } = this.#questions;
    // The rows of a paste that comes key by key are drawn at its end.
    if (this.#isClosed || this.#asked.pasting) return;
    if (question?.kind === 'menu') this.#drawMenu(question);
    else if (question?.kind === 'pick') this.#drawPicker(question);
    else if (this.#search) this.#drawSearch(this.#search);
    else this.#drawEditor();
  }

  #drawEditor(): void {
    const { area, columns, style, dim } = this.#place;
    const { shown: question, hasWaiting } = this.#questions;
    const prompt = question?.kind === 'line' ? question.words : (this.#hands.prompt ?? '› ');
    const { rows, cursor } = inputRows(this.#asked, { prompt, columns: columns(), most: MOST_ROWS });
    const first = rows[0] ?? '';
    const styled = first.startsWith(prompt) ? style(prompt) + first.slice(prompt.length) : first;
    const hint = question === null && this.#editor.text === '' ? this.#suggestion : null;
    const ghost = hint === null ? '' : truncateToWidth(`${hint}  (Tab)`, columns() - displayWidth(prompt) - 2);
    const note = question === null && hasWaiting && this.#editor.text !== '' ? [WAITS] : [];
    const offers = this.#offered && !question ? offerRows(this.#offered, { columns: columns(), style, dim }) : [];
    const at = { row: cursor.row + note.length, column: cursor.column };
    const typed = [ghost === '' ? styled : styled + dim(ghost), ...rows.slice(1)];
    area.show('input', [...note, ...typed, ...offers], at);
  }

  #drawMenu({ menu, at }: MenuQuestion): void {
    const { area, columns, style } = this.#place;
    const marked = this.#questions.isSettled ? at : null;
    const rows = menuRows(menu, marked, { columns: columns(), style });
    area.show('input', rows, { row: rows.length - menu.options.length + at, column: 1 });
  }

  #drawPicker(question: PickQuestion): void {
    const { picker, state, previews } = question;
    const { area, columns, style, dim } = this.#place;
    const marked = findMarked(picker, state)?.answer ?? '';
    const preview = previews.get(marked);
    if (preview === undefined && marked !== '') void this.#readPreview(question, marked);
    const rows = pickerRows(picker, state, { columns: columns(), style, dim, preview: preview ?? null });
    area.show('input', rows, { row: 1, column: QUERY_COLUMN + displayWidth(state.query) });
  }

  async #readPreview({ picker, previews }: PickQuestion, answer: string): Promise<void> {
    if (!picker.preview) return;
    previews.set(answer, null);
    previews.set(answer, await picker.preview(answer).catch((error: unknown) => [`(${reasonOf(error)})`]));
    this.#draw();
  }

  #drawSearch(search: HistorySearch): void {
    const { area, columns } = this.#place;
    const row = searchRow(search, this.#editor.history, columns());
    area.show('input', [row], { row: 0, column: displayWidth(`search: ${search.query}`) });
  }

  readonly #onKey = (typed: string | undefined, key: KeyPress): void => {
    if (!this.#questions.admits(key)) return;
    if (!this.#isTaken(typed, key)) this.#type(typed, key);
    this.#draw();
    this.#questions.look();
  };

  #isTaken(typed: string | undefined, key: KeyPress): boolean {
    const { shown: question } = this.#questions;
    if (question?.kind === 'menu') return this.#pressInMenu(question, typed, key);
    if (question?.kind === 'pick') return this.#pressInPicker(question, typed, key);
    if (this.#search) return this.#pressInSearch(this.#search, typed, key);
    return this.#offered !== null && !question && this.#pressInOffer(this.#offered, key);
  }

  /** Returns false for a key that means the same with a menu open as without. */
  #pressInMenu(open: MenuQuestion, typed: string | undefined, key: KeyPress): boolean {
    if (isActInMenu(key)) return false;
    const pressed = pressMenuKey(open.menu, open.at, typed, key);
    const isMoved = open.at !== pressed.at;
    open.at = pressed.at;
    if (pressed.answer !== null) this.#questions.answer(pressed.answer);
    else if (key.name === 'paste') this.#place.say(NOT_PASTED);
    else if (!isMoved && isText(typed)) this.#questions.stray();
    return true;
  }

  #pressInPicker(open: PickQuestion, typed: string | undefined, key: KeyPress): boolean {
    const pressed = pressPickerKey(open.picker, open.state, typed, key);
    open.state = pressed.state;
    if (pressed.answer !== undefined) this.#questions.answer(pressed.answer);
    return true;
  }

  /** Returns false for a key that goes on to the text that was found. */
  #pressInSearch(current: HistorySearch, typed: string | undefined, key: KeyPress): boolean {
    const { history } = this.#editor;
    const pressed = pressSearchKey(current, history, typed, key);
    this.#search = pressed.kind === 'search' ? pressed.search : null;
    if (pressed.kind !== 'take') return true;
    this.#editor = newEditor(history, pressed.text);
    return !pressed.isKeyOpen;
  }

  /** Returns false for a key that does nothing to the offered completions. */
  #pressInOffer(current: OfferedCompletions, { name, shift }: KeyPress): boolean {
    if (name === 'up' || name === 'down') this.#offered = moveOffer(current, name === 'up' ? -1 : 1);
    else if (name === 'tab' && !shift) void this.#accept();
    else return false;
    return true;
  }

  #type(typed: string | undefined, key: KeyPress): void {
    const { shown: question } = this.#questions;
    const isEarly = key.name === 'enter' && Date.now() - this.#openedAt < EARLY_MS;
    const { editor, act } = pressKey(this.#asked, typed, isEarly ? { name: 'return' } : key);
    const before = this.#editor;
    const isTab = key.name === 'tab' && !key.shift && !question && !before.pasting;
    if (question?.kind === 'line') question.editor = editor;
    else if (isTab && before.text === '' && this.#suggestion !== null)
      this.#editor = newEditor(before.history, this.#suggestion);
    else if (isTab) void this.#accept();
    else this.#editor = editor;
    if (act) this.#acts[act]();
    if (this.#editor.text === before.text && this.#editor.cursor === before.cursor) return;
    this.#offered = null;
    if (this.#hands.complete && !this.#editor.pasting) void this.#offer();
  }

  #submit(now: boolean): void {
    const { shown: question } = this.#questions;
    if (question?.kind === 'line') {
      const line = fullText(question.editor);
      this.#place.say(`${question.words.trimEnd()} ${line}`);
      return this.#questions.answer(line);
    }
    const text = fullText(this.#editor);
    this.#editor = clearSent(this.#editor);
    this.#offered = null;
    if (text.trim() !== '') this.#hands.submit(text, now);
    this.#questions.look();
  }

  /** Asks what may stand at the cursor; a later key makes the answer void. */
  async #offer(): Promise<void> {
    const { text, cursor, at } = this.#editor;
    // A text that was recalled is complete, and an arrow must go on through the history.
    const found = at === null ? await this.#hands.complete?.(text.slice(0, cursor)) : null;
    if (this.#editor.text !== text || this.#editor.cursor !== cursor) return;
    this.#offered = found && found.items.length > 0 ? { ...found, at: 0 } : null;
    this.#draw();
  }

  async #accept(): Promise<void> {
    if (!this.#offered) await this.#offer();
    if (!this.#offered) return;
    this.#editor = acceptOffer(this.#editor, this.#offered);
    this.#offered = null;
    await this.#offer();
  }

  async #outside<T>(act: () => Promise<T>): Promise<T> {
    const { area, keyboard } = this.#place;
    const release = area.hold();
    keyboard.stop();
    try {
      return await act();
    } finally {
      if (!this.#isClosed) keyboard.start(this.#onKey);
      release();
      this.#draw();
    }
  }

  async #editOutside(): Promise<void> {
    const text = await this.#outside(() => this.#place.runEditor(fullText(this.#editor)));
    if (text !== null) this.#editor = newEditor(this.#editor.history, text.trimEnd());
    this.#draw();
  }
}

const isText = (typed: string | undefined): boolean => typed !== undefined && /^\P{Cc}/u.test(typed);

type Typed = { readonly text: string; readonly cursor: number };

type InputLook = {
  /** Text before the first row; further rows begin below its end. */
  readonly prompt: string;
  readonly columns: number;
  readonly most: number;
};

export function inputRows(
  typed: Typed,
  { prompt, columns, most }: InputLook,
): { readonly rows: readonly string[]; readonly cursor: CursorPlace } {
  const room = Math.max(4, columns - 1);
  const wide = displayWidth(prompt);
  const inset = wide <= room / 2 ? wide : 0;
  const { text, cursor, isCut } = partAround(typed, most * columns);
  const rows = [isCut ? ' '.repeat(inset) : prompt];
  let column = isCut ? inset : wide;
  let place: CursorPlace | null = null;
  let at = 0;
  const next = (): void => {
    rows.push(' '.repeat(inset));
    column = inset;
  };
  for (const one of splitGraphemes(text)) {
    const glyph = one === '\t' ? '    ' : showUnseen(one);
    const width = one === '\n' ? 0 : glyph === one ? graphemeWidth(one) : displayWidth(glyph);
    if (column + width >= room && one !== '\n') next();
    if (at === cursor) place = { row: rows.length - 1, column };
    at += one.length;
    if (one === '\n') next();
    else {
      rows[rows.length - 1] += glyph;
      column += width;
    }
  }
  const end = place ?? { row: rows.length - 1, column };
  const from = Math.max(0, Math.min(end.row, rows.length - most));
  return { rows: rows.slice(from, from + most), cursor: { row: end.row - from, column: end.column } };
}

/**
 * Lays out no more than what can be seen: `reach` characters before the cursor and as many behind
 * it, from the beginning of a line where one is near. `isCut`: the first row is not the text's.
 */
function partAround({ text, cursor }: Typed, reach: number): Typed & { readonly isCut: boolean } {
  const end = cursor + reach;
  const before = cursor - reach;
  if (before <= 0) return { text: text.slice(0, end), cursor, isCut: false };
  const line = text.lastIndexOf('\n', before - 1) + 1;
  const from = before - line <= reach ? line : before;
  return { text: text.slice(from, end), cursor: cursor - from, isCut: from > 0 };
}

type HistorySearch = {
  readonly query: string;
  /** Index of the found text; null when no text has the query in it. */
  readonly at: number | null;
};

type SearchPress =
  | { readonly kind: 'search'; readonly search: HistorySearch }
  /** `isKeyOpen`: the key still has its own meaning for the text that was found. */
  | { readonly kind: 'take'; readonly text: string; readonly isKeyOpen: boolean }
  | { readonly kind: 'cancel' };

export function beginSearch(history: readonly string[]): HistorySearch {
  return { query: '', at: findBefore(history, '', history.length) };
}

export function pressSearchKey(
  search: HistorySearch,
  history: readonly string[],
  typed: string | undefined,
  { name, ctrl = false, meta = false }: KeyPress,
): SearchPress {
  const { query, at } = search;
  const found = (words: string, before: number): SearchPress => ({
    kind: 'search',
    search: { query: words, at: findBefore(history, words, before) },
  });
  if (ctrl && name === 'r') {
    const older = findBefore(history, query, at ?? 0);
    return { kind: 'search', search: { query, at: older ?? at } };
  }
  if (name === 'escape' || (ctrl && (name === 'g' || name === 'c'))) return { kind: 'cancel' };
  if (name === 'backspace') return found(Array.from(query).slice(0, -1).join(''), history.length);
  const isTyped = typed !== undefined && !ctrl && !meta && !/^\p{Cc}/u.test(typed);
  if (isTyped) return found(query + oneLine(typed, 200), history.length);
  const text = at === null ? '' : (history[at] ?? '');
  return { kind: 'take', text, isKeyOpen: !['return', 'enter', 'tab'].includes(name ?? '') };
}

function findBefore(history: readonly string[], query: string, before: number): number | null {
  const wanted = query.toLowerCase();
  for (let at = before - 1; at >= 0; at -= 1) if (history[at]?.toLowerCase().includes(wanted)) return at;
  return null;
}

export function searchRow({ query, at }: HistorySearch, history: readonly string[], columns: number): string {
  const text = at === null ? '(no earlier text has it)' : oneLine(history[at] ?? '', 400);
  return truncateToWidth(`search: ${query}▏ ${text}`, columns - 1);
}
