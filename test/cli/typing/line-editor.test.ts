// What keys make of what is typed.
import { expect, test } from 'vitest';
import {
  type Act,
  type Editor,
  fullText,
  type KeyPress,
  newEditor,
  pressKey,
  clearSent,
} from '../../../cli/typing/line-editor.ts';

const ctrl = (name: string): KeyPress => ({ name, ctrl: true });
const meta = (name: string): KeyPress => ({ name, meta: true });
const named = (name: string): KeyPress => ({ name });

/** Texts are typed, keys pressed. */
function after(
  keys: readonly (string | KeyPress)[],
  editor = newEditor(),
): { readonly editor: Editor; readonly acts: Act[] } {
  const acts: Act[] = [];
  let now = editor;
  for (const key of keys) {
    for (const one of typeof key === 'string' ? Array.from(key) : [key]) {
      const pressed = typeof one === 'string' ? pressKey(now, one, { name: one }) : pressKey(now, undefined, one);
      now = pressed.editor;
      if (pressed.act) acts.push(pressed.act);
    }
  }
  return { editor: now, acts };
}

const shown = ({ text, cursor }: Editor): string => `${text.slice(0, cursor)}|${text.slice(cursor)}`;

test.each<[string, readonly (string | KeyPress)[], string]>([
  ['what is typed stands before the cursor', ['ab', named('left'), 'c'], 'ac|b'],
  ['backspace and delete take a whole character', ['a👩‍💻b', named('left'), named('backspace'), named('delete')], 'a|'],
  ['words are passed and taken', ['one two', ctrl('w'), 'three', meta('b'), 'x'], 'one x|three'],
  ['Ctrl-U and Ctrl-K take a line', ['one two', meta('b'), ctrl('u'), ctrl('k')], '|'],
  ['Ctrl-A, Ctrl-E and the arrows move', ['ab', ctrl('a'), 'x', ctrl('e'), 'y', named('left'), 'z'], 'xabz|y'],
  [
    'Alt-Enter, Ctrl-J and a backslash before Enter begin a line',
    ['a', meta('return'), 'b', ctrl('j'), 'c\\', named('return'), 'd'],
    'a\nb\nc\nd|',
  ],
  [
    'arrows go up and down in what has several lines',
    ['abc', ctrl('j'), 'de', named('up'), 'x', named('down'), named('end'), 'y'],
    'abxc\ndey|',
  ],
  ['keys without a text type nothing', [named('tab'), named('escape'), { name: 'f5', sequence: '\u001b[15~' }], '|'],
])('%s (O18)', (_what, keys, text) => {
  expect(shown(after(keys).editor)).toBe(text);
});

test('a paste is taken as it is: its line breaks send nothing (O20)', () => {
  const { editor, acts } = after([named('paste-start'), 'a', named('return'), named('tab'), 'b', named('paste-end')]);
  expect([editor.text, acts]).toEqual(['a\n\tb', []]);
});

const pasted = (text: string, editor: Editor): Editor => pressKey(editor, text, named('paste')).editor;

test('a paste that comes whole is taken as it is, without what a terminal would obey (O20)', () => {
  const editor = pasted('one\r\ntwo\rthree\u0007\u001b[2J', newEditor());
  expect(fullText(editor)).toBe('one\ntwo\nthree[2J');
  expect(editor.text).toBe(fullText(editor));
});

test('a long paste is folded while it is typed, sent whole, and taken away with one key (O20)', () => {
  const text = Array.from({ length: 200 }, (_, at) => `line ${at}`).join('\n');
  const editor = after([' now'], pasted(text, after(['look at ']).editor)).editor;
  expect(shown(editor)).toBe('look at [200 lines pasted] now|');
  expect(pasted(`${text}\n`, newEditor()).text).toBe('[200 lines pasted]');
  expect(fullText(editor)).toBe(`look at ${text} now`);
  expect(clearSent(editor).history).toEqual([`look at ${text} now`]);
  const two = pasted('y'.repeat(3_000), pasted('x'.repeat(3_000), newEditor()));
  expect(two.text).toBe('[3000 characters pasted][3000 characters pasted #2]');
  expect(fullText(after([named('backspace')], two).editor)).toBe('x'.repeat(3_000));
});

test('a paste beyond the longest message is cut, and says so (O20)', () => {
  const editor = pasted('z'.repeat(1_200_000), newEditor());
  expect(editor.text).toBe('[1200000 characters pasted, cut to 1000000 characters]');
  expect(fullText(editor)).toHaveLength(1_000_000);
});

test('Enter sends, Ctrl-S sends now, Ctrl-C interrupts, Ctrl-D leaves only where nothing is typed (O18)', () => {
  expect(after(['a', named('return'), ctrl('s'), ctrl('c')]).acts).toEqual(['send', 'now', 'interrupt']);
  const { editor, acts } = after(['ab', named('left'), ctrl('d'), ctrl('d')]);
  expect([shown(editor), acts]).toEqual(['a|', []]);
  expect(after([ctrl('d')]).acts).toEqual(['leave']);
});

test('what was sent is called up again, and what is being typed is kept (O20)', () => {
  const two = ['one', 'two'].reduce((editor, text) => clearSent(after([text], editor).editor), newEditor());
  expect(two.history).toEqual(['one', 'two']);
  const up = after(['dra', named('up'), named('up'), named('up')], two).editor;
  expect(shown(up)).toBe('one|');
  expect(shown(after([named('down'), named('down'), named('down'), 'ft'], up).editor)).toBe('draft|');
  expect(clearSent(after(['two'], two).editor).history).toEqual(['one', 'two']);
});
