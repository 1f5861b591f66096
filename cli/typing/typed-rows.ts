// The rows at the bottom in which a person types. A question appears only while nothing is typed,
// so that a key meant for a message cannot answer it; typed text is kept until it is sent.
import type { BottomArea } from '../terminal/bottom-area.ts';
import { inputRows } from '../terminal/input-rows.ts';
import { truncateToWidth, displayWidth } from '../../client/render/width.ts';
import { acceptOffer, moveOffer, type OfferedCompletions, offerRows } from './completion.ts';
import { beginSearch, type HistorySearch, pressSearchKey, searchRow } from './history-search.ts';
import type { Hands, Input, Keyboard } from './input.ts';
import { type Menu, menuRows, pressMenuKey } from './menu.ts';
import { type Act, type Editor, fullText, type KeyPress, newEditor, pressKey, clearSent } from './line-editor.ts';

export type TypedRows = {
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
 * Milliseconds without a key before a question appears: keys on their way were meant for something
 * else.
 */
const QUIET_MS = 400;
/**
 * Keys typed before there was a row arrive at once, with Enter as the terminal reported it then.
 */
const EARLY_MS = 150;
const MOST_ROWS = 8;
/** Keys with Ctrl that mean the same while a menu is open: they answer nothing. */
const ACTS_IN_MENU = new Set(['c', 'd', 'z', 'l', 'o']);
const WAITS = '(a question waits until this line is sent, or cleared with Ctrl-U)';

type Answer = (line: string | null) => void;
type LineQuestion = { readonly kind: 'line'; readonly words: string; editor: Editor; readonly answer: Answer };
type MenuQuestion = { readonly kind: 'menu'; readonly menu: Menu; at: number; readonly answer: Answer };
type Question = LineQuestion | MenuQuestion;

export function openTypedRows(place: TypedRows, hands: Hands): Input {
  const { area, keyboard, columns, style } = place;
  let editor = newEditor(hands.history);
  let suggestion: string | null = null;
  let question = null as Question | null;
  let search = null as HistorySearch | null;
  let offered = null as OfferedCompletions | null;
  const waiting: (() => void)[] = [];
  let lastKey = 0;
  let closed = false;
  let wake: NodeJS.Timeout | undefined;

  const asked = (): Editor => (question?.kind === 'line' ? question.editor : editor);
  const draw = (): void => {
    // The rows of a paste that comes key by key are drawn at its end.
    if (closed || asked().pasting) return;
    if (question?.kind === 'menu') return drawMenu(question);
    if (search) return drawSearch(search);
    const prompt = question ? question.words : (hands.prompt ?? '› ');
    const look = { prompt, columns: columns(), most: MOST_ROWS };
    const { rows, cursor } = inputRows(asked(), look);
    const first = rows[0] ?? '';
    const styled = first.startsWith(prompt) ? style(prompt) + first.slice(prompt.length) : first;
    const hint = question === null && editor.text === '' ? suggestion : null;
    const ghost = hint === null ? '' : truncateToWidth(`${hint}  (Tab)`, columns() - displayWidth(prompt) - 2);
    const note = question === null && waiting.length > 0 && editor.text !== '' ? [WAITS] : [];
    const offers = offered && !question ? offerRows(offered, { columns: columns(), style, dim: place.dim }) : [];
    const at = { row: cursor.row + note.length, column: cursor.column };
    const typed = [ghost === '' ? styled : styled + place.dim(ghost), ...rows.slice(1)];
    area.show('input', [...note, ...typed, ...offers], at);
  };
  const drawMenu = ({ menu, at }: MenuQuestion): void => {
    const rows = menuRows(menu, at, { columns: columns(), style });
    area.show('input', rows, { row: at + 1, column: 1 });
  };
  const drawSearch = (current: HistorySearch): void => {
    const row = searchRow(current, editor.history, columns());
    area.show('input', [row], { row: 0, column: displayWidth(`search: ${current.query}`) });
  };
  /** Asks what may stand at the cursor; a later key makes the answer void. */
  const offer = async (): Promise<void> => {
    const { text, cursor, at } = editor;
    // A text that was recalled is complete, and an arrow must go on through the history.
    const found = at === null ? await hands.complete?.(text.slice(0, cursor)) : null;
    if (editor.text !== text || editor.cursor !== cursor) return;
    offered = found && found.items.length > 0 ? { ...found, at: 0 } : null;
    draw();
  };
  const accept = async (): Promise<void> => {
    if (!offered) await offer();
    if (!offered) return;
    editor = acceptOffer(editor, offered);
    offered = null;
    await offer();
  };
  /** Puts the next question as soon as nothing is being typed. */
  const look = (): void => {
    clearTimeout(wake);
    if (question || closed || waiting.length === 0) return;
    const quiet = Date.now() - lastKey;
    if (editor.text === '' && quiet >= QUIET_MS) waiting.shift()?.();
    else if (editor.text === '') wake = setTimeout(look, QUIET_MS - quiet);
  };
  const answerQuestion = (line: string | null): void => {
    const answered = question;
    question = null;
    if (line !== null && answered?.kind === 'line') place.say(`${answered.words.trimEnd()} ${line}`);
    answered?.answer(line);
    draw();
    look();
  };
  const outside = async <T>(act: () => Promise<T>): Promise<T> => {
    const release = area.hold();
    keyboard.stop();
    try {
      return await act();
    } finally {
      if (!closed) keyboard.start(onKey);
      release();
      draw();
    }
  };
  const editOutside = async (): Promise<void> => {
    const text = await outside(() => place.runEditor(fullText(editor)));
    if (text !== null) editor = newEditor(editor.history, text.trimEnd());
    draw();
  };
  const submit = (now: boolean): void => {
    if (question?.kind === 'line') return answerQuestion(fullText(question.editor));
    const text = fullText(editor);
    editor = clearSent(editor);
    offered = null;
    if (text.trim() !== '') hands.submit(text, now);
    look();
  };
  const acts: Readonly<Record<Act, () => void>> = {
    send: () => submit(false),
    now: () => submit(true),
    interrupt: hands.interrupt,
    leave: hands.leave,
    suspend: () => void outside(place.suspend),
    redraw: () => area.resize(),
    edit: () => void (question ? undefined : editOutside()),
    escape: () => {
      if (offered) offered = null;
      else hands.escape?.();
    },
    output: () => hands.showOutput?.(),
    mode: () => hands.nextMode?.(),
    search: () => {
      if (!question && editor.history.length > 0) search = beginSearch(editor.history);
    },
  };
  /** Returns false for a key that means the same with a menu open as without. */
  const pressInMenu = (open: MenuQuestion, typed: string | undefined, key: KeyPress): boolean => {
    if (key.ctrl && ACTS_IN_MENU.has(key.name ?? '')) return false;
    const pressed = pressMenuKey(open.menu, open.at, typed, key);
    open.at = pressed.at;
    if (pressed.answer !== null) answerQuestion(pressed.answer);
    return true;
  };
  /** Returns false for a key that goes on to the text that was found. */
  const pressInSearch = (current: HistorySearch, typed: string | undefined, key: KeyPress): boolean => {
    const pressed = pressSearchKey(current, editor.history, typed, key);
    search = pressed.kind === 'search' ? pressed.search : null;
    if (pressed.kind !== 'take') return true;
    editor = newEditor(editor.history, pressed.text);
    return !pressed.isKeyOpen;
  };
  /** Returns false for a key that does nothing to the offered completions. */
  const pressInOffer = (current: OfferedCompletions, { name, shift }: KeyPress): boolean => {
    if (name === 'up' || name === 'down') offered = moveOffer(current, name === 'up' ? -1 : 1);
    else if (name === 'tab' && !shift) void accept();
    else return false;
    return true;
  };
  const isTaken = (typed: string | undefined, key: KeyPress): boolean => {
    if (question?.kind === 'menu') return pressInMenu(question, typed, key);
    if (search) return pressInSearch(search, typed, key);
    return offered !== null && !question && pressInOffer(offered, key);
  };
  const onKey = (typed: string | undefined, key: KeyPress): void => {
    lastKey = Date.now();
    const early = key.name === 'enter' && lastKey - opened < EARLY_MS;
    if (isTaken(typed, key)) {
      draw();
      return look();
    }
    const before = editor;
    const pressed = pressKey(asked(), typed, early ? { name: 'return' } : key);
    const isTab = key.name === 'tab' && !key.shift && !question && !editor.pasting;
    if (question?.kind === 'line') question.editor = pressed.editor;
    else if (isTab && editor.text === '' && suggestion !== null) editor = newEditor(editor.history, suggestion);
    else if (isTab) void accept();
    else editor = pressed.editor;
    if (pressed.act) acts[pressed.act]();
    if (editor.text !== before.text || editor.cursor !== before.cursor) {
      offered = null;
      if (hands.complete && !editor.pasting) void offer();
    }
    draw();
    look();
  };
  const opened = Date.now();
  keyboard.start(onKey);
  draw();
  /** Waits for its turn and for an empty row, then puts the question. */
  const put = (make: (answer: Answer) => Question, signal: AbortSignal): Promise<string | null> =>
    new Promise((resolve) => {
      let mine: Question | null = null;
      const show = (): void => {
        mine = make((line) => (signal.removeEventListener('abort', gone), resolve(line)));
        question = mine;
        draw();
      };
      const gone = (): void => {
        const at = waiting.indexOf(show);
        if (at >= 0) waiting.splice(at, 1);
        if (mine !== null && question === mine) answerQuestion(null);
        else resolve(null);
      };
      if (signal.aborted || closed) return resolve(null);
      signal.addEventListener('abort', gone, { once: true });
      waiting.push(show);
      look();
      draw();
    });
  return {
    ask: (words, signal) => put((answer) => ({ kind: 'line', words, editor: newEditor(), answer }), signal),
    pick: (menu, signal) => put((answer) => ({ kind: 'menu', menu, at: 0, answer }), signal),
    suggest: (text) => {
      if (text === suggestion) return;
      suggestion = text;
      draw();
    },
    edit: (text) => outside(() => place.runEditor(text)),
    close: () => {
      closed = true;
      clearTimeout(wake);
      keyboard.stop();
      area.show('input', []);
      question?.answer(null);
      question = null;
      return fullText(editor);
    },
  };
}
