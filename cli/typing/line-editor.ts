// Edits text of one or more lines before it is sent, with a cursor and a history. Pure: a key goes
// in, a state and an optional action come out.

/** A key as node:readline reports it. */
export type KeyPress = {
  readonly name?: string | undefined;
  readonly ctrl?: boolean;
  readonly meta?: boolean;
  readonly shift?: boolean;
  readonly sequence?: string;
  /**
   * It came with other characters at once, as a paste does where a terminal does not mark it: no
   * hand decided by it.
   */
  readonly together?: boolean;
};

export type Editor = {
  readonly text: string;
  /** Position in UTF-16 units, between two characters as people count them. */
  readonly cursor: number;
  /** Texts that were sent, oldest first. */
  readonly history: readonly string[];
  /** Index of the shown text in the history; null for the text being typed. */
  readonly at: number | null;
  /** The text being typed when an older one was recalled. */
  readonly draft: string;
  /** True between the marks of a paste, where a line break does not send. */
  readonly pasting: boolean;
  /** Long pastes by the words that stand for them in `text`. */
  readonly folded: ReadonlyMap<string, string>;
};

/** Enter gives `send`, Ctrl-S `now`, and Ctrl-D without text `leave`. */
export type Act =
  'send' | 'now' | 'interrupt' | 'leave' | 'suspend' | 'redraw' | 'edit' | 'escape' | 'output' | 'mode' | 'search';
type KeyResult = { readonly editor: Editor; readonly act: Act | null };

export function newEditor(history: readonly string[] = [], text = ''): Editor {
  return { text, cursor: text.length, history, at: null, draft: '', pasting: false, folded: new Map() };
}

/** Characters, as many as a message may have. */
const LONGEST = 1_000_000;
/** A paste with more lines or characters is folded. */
const FOLDED_LINES = 10;
const FOLDED_CHARACTERS = 1_000;
const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' });

export function pressKey(editor: Editor, typed: string | undefined, key: KeyPress): KeyResult {
  if (key.name === 'paste-start') return withoutAct({ ...editor, pasting: true });
  if (key.name === 'paste-end') return withoutAct({ ...editor, pasting: false });
  if (key.name === 'paste') return withoutAct(paste(editor, typed ?? ''));
  if (editor.pasting) return withoutAct(insert(editor, textOfPaste(typed, key)));
  if (key.ctrl) return pressControlKey(editor, key.name ?? '');
  // A terminal may tell Escape as a chord with nothing.
  if (key.name === 'escape') return { editor, act: 'escape' };
  if (key.meta) return withoutAct(pressMetaKey(editor, key.name ?? ''));
  switch (key.name) {
    case 'return':
      // A line that ends with a backslash continues.
      if (editor.text.endsWith('\\') && editor.cursor === editor.text.length)
        return withoutAct(insert({ ...editor, text: editor.text.slice(0, -1), cursor: editor.cursor - 1 }, '\n'));
      return { editor, act: 'send' };
    case 'enter':
      return withoutAct(insert(editor, '\n'));
    case 'backspace':
      return withoutAct(remove(editor, cursorBefore(editor), editor.cursor));
    case 'delete':
      return withoutAct(remove(editor, editor.cursor, cursorAfter(editor)));
    case 'left':
      return withoutAct(moveCursor(editor, cursorBefore(editor)));
    case 'right':
      return withoutAct(moveCursor(editor, cursorAfter(editor)));
    case 'home':
      return withoutAct(moveCursor(editor, lineStart(editor)));
    case 'end':
      return withoutAct(moveCursor(editor, lineEnd(editor)));
    case 'up':
      return withoutAct(moveUp(editor));
    case 'down':
      return withoutAct(moveDown(editor));
    case 'tab':
      return { editor, act: key.shift ? 'mode' : null };
    default:
      return withoutAct(insert(editor, isText(typed) ? typed : ''));
  }
}

/** Empties the editor after sending and adds the text to the history. */
export function clearSent(editor: Editor): Editor {
  const { history } = editor;
  const text = fullText(editor);
  const same = text.trim() === '' || history.at(-1) === text;
  return newEditor(same ? history : [...history, text]);
}

/** The typed text, with each folded paste in its place. */
export function fullText({ text, folded }: Pick<Editor, 'text' | 'folded'>): string {
  if (folded.size === 0) return text;
  const labels = [...folded.keys()].map((label) => label.replace(/[[\]]/g, '\\$&'));
  return text.replace(new RegExp(labels.join('|'), 'g'), (label) => folded.get(label) ?? label);
}

/** Takes a paste whole. A long one stands in the text as words, until it is sent. */
function paste(editor: Editor, pasted: string): Editor {
  const text = pasted.replace(/\r\n?/g, '\n').replace(NOT_PASTED, '');
  const lines = text.replace(/\n$/, '').split('\n').length;
  if (lines <= FOLDED_LINES && text.length <= FOLDED_CHARACTERS) return insert(editor, text);
  const accepted = text.slice(0, Math.max(0, LONGEST - fullText(editor).length));
  const size = lines > 1 ? `${lines} lines` : `${text.length} characters`;
  const cut = accepted.length < text.length ? `, cut to ${accepted.length} characters` : '';
  const number = editor.folded.size === 0 ? '' : ` #${editor.folded.size + 1}`;
  const label = `[${size} pasted${number}${cut}]`;
  return insert({ ...editor, folded: new Map([...editor.folded, [label, accepted]]) }, label);
}

/* oxlint-disable-next-line no-control-regex */
const NOT_PASTED = /[\u0000-\u0008\u000b-\u001f\u007f]/g;

const withoutAct = (editor: Editor): KeyResult => ({ editor, act: null });

const isText = (typed: string | undefined): typed is string => typed !== undefined && !/^\p{Cc}/u.test(typed);

function textOfPaste(typed: string | undefined, { name, sequence = '' }: KeyPress): string {
  if (name === 'return' || name === 'enter') return '\n';
  if (name === 'tab') return '\t';
  return isText(typed) ? typed : isText(sequence) ? sequence : '';
}

function pressControlKey(editor: Editor, name: string): KeyResult {
  switch (name) {
    case 'c':
      return { editor, act: 'interrupt' };
    case 'd':
      return editor.text === ''
        ? { editor, act: 'leave' }
        : withoutAct(remove(editor, editor.cursor, cursorAfter(editor)));
    case 's':
      return { editor, act: 'now' };
    case 'z':
      return { editor, act: 'suspend' };
    case 'l':
      return { editor, act: 'redraw' };
    case 'g':
      return { editor, act: 'edit' };
    case 'o':
      return { editor, act: 'output' };
    case 'r':
      return { editor, act: 'search' };
    case 'a':
      return withoutAct(moveCursor(editor, lineStart(editor)));
    case 'e':
      return withoutAct(moveCursor(editor, lineEnd(editor)));
    case 'b':
      return withoutAct(moveCursor(editor, cursorBefore(editor)));
    case 'f':
      return withoutAct(moveCursor(editor, cursorAfter(editor)));
    case 'p':
      return withoutAct(moveUp(editor));
    case 'n':
      return withoutAct(moveDown(editor));
    case 'h':
      return withoutAct(remove(editor, cursorBefore(editor), editor.cursor));
    case 'w':
    case 'backspace':
      return withoutAct(remove(editor, wordStart(editor), editor.cursor));
    case 'u':
      return withoutAct(remove(editor, lineStart(editor), editor.cursor));
    case 'k':
      return withoutAct(remove(editor, editor.cursor, lineEnd(editor)));
    case 'left':
      return withoutAct(moveCursor(editor, wordStart(editor)));
    case 'right':
      return withoutAct(moveCursor(editor, wordEnd(editor)));
    case 'j':
      return withoutAct(insert(editor, '\n'));
    default:
      return withoutAct(editor);
  }
}

function pressMetaKey(editor: Editor, name: string): Editor {
  switch (name) {
    case 'return':
    case 'enter':
      return insert(editor, '\n');
    case 'b':
    case 'left':
      return moveCursor(editor, wordStart(editor));
    case 'f':
    case 'right':
      return moveCursor(editor, wordEnd(editor));
    case 'd':
      return remove(editor, editor.cursor, wordEnd(editor));
    case 'backspace':
      return remove(editor, wordStart(editor), editor.cursor);
    default:
      return editor;
  }
}

function insert(editor: Editor, words: string): Editor {
  const { text, cursor } = editor;
  const added = words.slice(0, Math.max(0, LONGEST - text.length));
  return { ...editor, text: text.slice(0, cursor) + added + text.slice(cursor), cursor: cursor + added.length };
}

function remove(editor: Editor, from: number, to: number): Editor {
  return { ...editor, text: editor.text.slice(0, from) + editor.text.slice(to), cursor: from };
}

const moveCursor = (editor: Editor, cursor: number): Editor => ({ ...editor, cursor });

function cursorBefore({ text, cursor, folded }: Editor): number {
  const label = [...folded.keys()].find((one) => text.endsWith(one, cursor));
  if (label !== undefined) return cursor - label.length;
  const last = Array.from(segmenter.segment(text.slice(Math.max(0, cursor - 64), cursor))).at(-1);
  return cursor - (last?.segment.length ?? 0);
}

function cursorAfter({ text, cursor }: Editor): number {
  const [first] = segmenter.segment(text.slice(cursor, cursor + 64));
  return cursor + (first?.segment.length ?? 0);
}

function wordStart({ text, cursor }: Editor): number {
  let at = cursor;
  while (at > 0 && /\s/.test(text[at - 1] ?? '')) at -= 1;
  while (at > 0 && !/\s/.test(text[at - 1] ?? '')) at -= 1;
  return at;
}

function wordEnd({ text, cursor }: Editor): number {
  let at = cursor;
  while (at < text.length && /\s/.test(text[at] ?? '')) at += 1;
  while (at < text.length && !/\s/.test(text[at] ?? '')) at += 1;
  return at;
}

const lineStart = ({ text, cursor }: Editor): number => text.lastIndexOf('\n', cursor - 1) + 1;

function lineEnd({ text, cursor }: Editor): number {
  const end = text.indexOf('\n', cursor);
  return end < 0 ? text.length : end;
}

/** Moves a line up, and from the first line to the text sent before. */
function moveUp(editor: Editor): Editor {
  const start = lineStart(editor);
  if (start > 0) {
    const above = editor.text.lastIndexOf('\n', start - 2) + 1;
    return moveCursor(editor, Math.min(above + editor.cursor - start, start - 1));
  }
  const { at, history } = editor;
  return recallText(editor, at === null ? history.length - 1 : at - 1);
}

function moveDown(editor: Editor): Editor {
  const end = lineEnd(editor);
  if (end < editor.text.length) {
    const column = editor.cursor - lineStart(editor);
    return moveCursor(editor, Math.min(end + 1 + column, lineEnd({ ...editor, cursor: end + 1 })));
  }
  const { at, history, draft } = editor;
  if (at === null) return editor;
  if (at < history.length - 1) return recallText(editor, at + 1);
  return { ...editor, text: draft, cursor: draft.length, at: null, draft: '' };
}

function recallText(editor: Editor, at: number): Editor {
  const found = editor.history[at];
  if (found === undefined) return editor;
  return { ...editor, text: found, cursor: found.length, at, draft: editor.at === null ? editor.text : editor.draft };
}
