// The rows at the bottom in which a person types. A question appears only while nothing is typed,
// so that a key meant for a message cannot answer it; typed text is kept until it is sent.
import type { BottomArea } from '../terminal/bottom-area.ts';
import { inputRows } from '../terminal/input-rows.ts';
import { truncateToWidth, displayWidth } from '../../client/render/width.ts';
import type { Hands, Input, Keyboard } from './input.ts';
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
const WAITS = '(a question waits until this line is sent, or cleared with Ctrl-U)';

type Question = { readonly words: string; editor: Editor; readonly answer: (line: string | null) => void };

export function openTypedRows(place: TypedRows, hands: Hands): Input {
  const { area, keyboard, columns, style } = place;
  let editor = newEditor(hands.history);
  let suggestion: string | null = null;
  let question: Question | null = null;
  const waiting: (() => void)[] = [];
  let lastKey = 0;
  let closed = false;
  let wake: NodeJS.Timeout | undefined;

  const draw = (): void => {
    // The rows of a paste that comes key by key are drawn at its end.
    if (closed || (question?.editor ?? editor).pasting) return;
    const prompt = question ? question.words : (hands.prompt ?? '› ');
    const look = { prompt, columns: columns(), most: MOST_ROWS };
    const { rows, cursor } = inputRows(question?.editor ?? editor, look);
    const first = rows[0] ?? '';
    const styled = first.startsWith(prompt) ? style(prompt) + first.slice(prompt.length) : first;
    const hint = question === null && editor.text === '' ? suggestion : null;
    const ghost = hint === null ? '' : truncateToWidth(`${hint}  (Tab)`, columns() - displayWidth(prompt) - 2);
    const note = question === null && waiting.length > 0 && editor.text !== '' ? [WAITS] : [];
    const at = { row: cursor.row + note.length, column: cursor.column };
    area.show('input', [...note, ghost === '' ? styled : styled + place.dim(ghost), ...rows.slice(1)], at);
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
    const { words, answer } = question ?? { words: '', answer: () => undefined };
    question = null;
    if (line !== null) place.say(`${words.trimEnd()} ${line}`);
    answer(line);
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
    if (question) return answerQuestion(fullText(question.editor));
    const text = fullText(editor);
    editor = clearSent(editor);
    if (text.trim() !== '') hands.submit(text, now);
    look();
  };
  const acts: Readonly<Record<Act, () => void>> = {
    send: () => submit(false),
    now: () => submit(true),
    interrupt: hands.interrupt,
    leave: hands.leave,
    suspend: () => void outside(place.suspend),
    redraw: () => area.resized(),
    edit: () => void (question ? undefined : editOutside()),
  };
  const onKey = (typed: string | undefined, key: KeyPress): void => {
    lastKey = Date.now();
    const early = key.name === 'enter' && lastKey - opened < EARLY_MS;
    const pressed = pressKey(question?.editor ?? editor, typed, early ? { name: 'return' } : key);
    const accepts = key.name === 'tab' && !key.shift && !question && editor.text === '' && !editor.pasting;
    if (question) question.editor = pressed.editor;
    else if (accepts && suggestion !== null) editor = newEditor(editor.history, suggestion);
    else editor = pressed.editor;
    if (pressed.act) acts[pressed.act]();
    draw();
    look();
  };
  const opened = Date.now();
  keyboard.start(onKey);
  draw();
  return {
    ask: (words, signal) =>
      new Promise((resolve) => {
        const put = (): void => {
          question = {
            words,
            editor: newEditor(),
            answer: (line) => (signal.removeEventListener('abort', gone), resolve(line)),
          };
          draw();
        };
        const isAsked = (): boolean => question !== null && question.words === words;
        const gone = (): void => {
          const at = waiting.indexOf(put);
          if (at >= 0) waiting.splice(at, 1);
          if (isAsked()) answerQuestion(null);
          else resolve(null);
        };
        if (signal.aborted || closed) return resolve(null);
        signal.addEventListener('abort', gone, { once: true });
        waiting.push(put);
        look();
        draw();
      }),
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
