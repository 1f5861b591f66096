import { expect, it } from 'vitest';
import { jsonLine, oneLine, plain } from '../../../client/render/plain.ts';

it.each([
  ['a colour', '\u001b[31mred\u001b[0m', 'red'],
  ['a window title', '\u001b]0;gotcha\u0007text', 'text'],
  ['a link, ended by a string terminator', '\u001b]8;;http://evil\u001b\\click\u001b]8;;\u001b\\', 'click'],
  ['an unfinished string', 'ok\u001b]52;c;aGk=', 'ok'],
  ['a device request', '\u001bPq#0\u001b\\after', 'after'],
  ['a cursor move', '\u001b[2J\u001b[Hcleared', 'cleared'],
  ['a one-byte sequence', '\u009b31mred', 'red'],
  ['a lone escape', 'a\u001b', 'a'],
  ['a bell, a backspace and a NUL', 'a\u0007b\u0008c\u0000d', 'abcd'],
  ['a line written over', 'password: hidden\rpassword: shown', 'password: hidden\npassword: shown'],
  ['a Windows line break', 'a\r\nb', 'a\nb'],
  ['line and paragraph separators', 'a\u2028b\u2029c', 'a\nb\nc'],
  ['text turned around', 'a\u202Etxt.exe', 'atxt.exe'],
  ['tabs, breaks, letters and emoji', 'a\tb\nü 漢 👩‍💻', 'a\tb\nü 漢 👩‍💻'],
])('makes %s harmless', (_what, given, expected) => {
  expect(plain(given)).toBe(expected);
});

it('leaves nothing of a sequence that acts when it comes in two pieces', () => {
  expect(['\u001b', '[31mred'].map(plain).join('')).toBe('[31mred');
});

it('puts text on one line, and says when it left some out', () => {
  expect(oneLine('  a\n\tb  ', 10)).toBe('a b');
  expect(oneLine('x'.repeat(20), 10)).toBe(`${'x'.repeat(9)}…`);
  expect(oneLine(`${' '.repeat(100)}end`, 10)).toMatch(/…$/);
});

it('writes JSON that reads back the same and that no terminal acts on', () => {
  const value = { text: 'a\u009b31m\u2028\u202E\u001b[0m' };
  const line = jsonLine(value);
  expect(line).toMatch(/^[\u0020-\u007e]*$/);
  expect(JSON.parse(line)).toEqual(value);
});
