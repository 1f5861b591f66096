// Questions that one key answers, completions and the search in what was typed.
import { expect, test } from 'vitest';
import { acceptOffer, moveOffer, offerRows } from '../../../cli/typing/completion.ts';
import { beginSearch, pressSearchKey, searchRow } from '../../../cli/typing/typed-rows.ts';
import { newEditor } from '../../../cli/typing/line-editor.ts';
import { type Menu, menuRows, pressMenuKey } from '../../../cli/typing/picker.ts';

const menu: Menu = {
  heading: 'Allow this command?',
  options: [
    { answer: 'y', words: 'yes', keys: ['y'] },
    { answer: 'n', words: 'no', keys: ['n'] },
  ],
  escape: 'i',
};
const press = (typed: string | undefined, name: string, more = {}) => pressMenuKey(menu, 0, typed, { name, ...more });

test('a number, a letter and Enter answer at once; a paste, a chord and another letter do not (O18)', () => {
  expect(press('2', '2')).toEqual({ at: 0, answer: 'n' });
  expect(press('Y', 'y', { shift: true })).toEqual({ at: 0, answer: 'y' });
  expect(press('\r', 'return')).toEqual({ at: 0, answer: 'y' });
  expect(press(undefined, 'escape')).toEqual({ at: 0, answer: 'i' });
  expect(press(undefined, 'down')).toEqual({ at: 1, answer: null });
  expect(press(undefined, 'up')).toEqual({ at: 1, answer: null });
  expect(press('y', 'paste').answer).toBeNull();
  expect(press('y', 'y', { meta: true }).answer).toBeNull();
  expect(press('x', 'x').answer).toBeNull();
});

test.each([
  ['т', 'n'],
  ['ν', 'n'],
  ['υ', 'y'],
  ['\u05de', 'n'],
  ['ㅛ', 'y'],
  ['\u0662', 'n'],
  ['н', null],
  ['ж', null],
])(
  'on a layout without Latin letters %s is the key in its place, and none where layouts differ (O18)',
  (typed, answer) => {
    expect(press(typed, '')).toEqual({ at: 0, answer });
  },
);

test('a menu is drawn with a pointer, and no row is wider than the terminal (O18)', () => {
  const rows = menuRows({ ...menu, heading: 'word '.repeat(40) }, 1, { columns: 30, style: (text) => text });
  expect(rows.slice(4)).toEqual(['   1 yes', ' ▸ 2 no']);
  expect(rows[3]).toMatch(/…$/);
  expect(rows.every((row) => row.length < 30)).toBe(true);
});

test('the reason at the end of a question can be read on 40 columns (O18)', () => {
  const why = 'This command may change files. The rule "bash(rm:*)" asks first.';
  const heading = `Allow this command?  ${why}`;
  const rows = menuRows({ ...menu, heading }, 0, { columns: 40, style: (text) => text });
  expect(rows.slice(0, -2).join(' ').replaceAll(/ +/g, ' ')).toContain(why);
});

test('Ctrl-R finds the newest text that has what is typed, then older ones, and Enter takes it (O20)', () => {
  const history = ['run the tests', 'read it', 'run it again'];
  let search = beginSearch(history);
  const key = (typed: string | undefined, name: string, more = {}) =>
    pressSearchKey(search, history, typed, { name, ...more });
  for (const letter of 'run') {
    const pressed = key(letter, letter);
    if (pressed.kind === 'search') search = pressed.search;
  }
  expect(searchRow(search, history, 60)).toBe('search: run▏ run it again');
  const older = key(undefined, 'r', { ctrl: true });
  expect(older).toEqual({ kind: 'search', search: { query: 'run', at: 0 } });
  expect(key('\r', 'return')).toEqual({ kind: 'take', text: 'run it again', isKeyOpen: false });
  expect(key(undefined, 'escape')).toEqual({ kind: 'cancel' });
});

test('an accepted completion replaces what was typed of it, wherever the cursor is (O20)', () => {
  const items = [
    { insert: '@a.txt ', label: 'a.txt', about: '' },
    { insert: '@b.txt ', label: 'b.txt', about: '' },
  ];
  const offered = moveOffer({ from: 4, items, at: 0 }, 1);
  const editor = { ...newEditor([], 'see @b please'), cursor: 6 };
  expect(acceptOffer(editor, offered)).toMatchObject({ text: 'see @b.txt  please', cursor: 11 });
  const look = { columns: 20, style: (text: string) => `*${text}`, dim: (text: string) => text };
  expect(offerRows(offered, look)).toEqual(['  a.txt', '*▸ b.txt']);
});
