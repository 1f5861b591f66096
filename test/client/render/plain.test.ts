import { expect, test } from 'vitest';
import { oneLine, shellWord } from '../../../client/paint.ts';
import { jsonLine, showUnseen } from '../../../system/text.ts';

test.each([
  ['a colour', '\u001b[31mred\u001b[0m', String.raw`\x1b[31mred\x1b[0m`],
  ['a window title', '\u001b]0;gotcha\u0007text', String.raw`\x1b]0;gotcha\x07text`],
  ['an unfinished string', 'ok\u001b]52;c;aGk=', String.raw`ok\x1b]52;c;aGk=`],
  ['a device request', '\u001bPq#0\u001b\\after', String.raw`\x1bPq#0\x1b\after`],
  ['a cursor move', '\u001b[2J\u001b[Hcleared', String.raw`\x1b[2J\x1b[Hcleared`],
  ['a one-byte sequence', '\u009b31mred', String.raw`\x9b31mred`],
  ['a lone escape', 'a\u001b', String.raw`a\x1b`],
  ['a bell, a backspace and a NUL', 'a\u0007b\u0008c\u0000d', String.raw`a\x07b\x08c\x00d`],
  ['a line written over', 'password: hidden\rpassword: shown', String.raw`password: hidden\rpassword: shown`],
  ['a Windows line break', 'a\r\nb', 'a\\r\nb'],
  ['line and paragraph separators', 'a\u2028b\u2029c', String.raw`a\u2028b\u2029c`],
  ['text turned around', 'a\u202Etxt.exe', String.raw`a\u202etxt.exe`],
  ['what takes no room', 'a\u200bb\u00adc\u{e0041}', String.raw`a\u200bb\xadc\u{e0041}`],
  ['half a character', 'a\ud800b', String.raw`a\ud800b`],
  ['tabs, breaks, letters and emoji', 'a\tb\nü 漢 👩‍💻', 'a\tb\nü 漢 👩‍💻'],
])('makes %s harmless', (_what, given, expected) => {
  expect(showUnseen(given)).toBe(expected);
});

test('leaves nothing of a sequence that acts when it comes in two pieces', () => {
  expect(['\u001b', '[31mred'].map(showUnseen).join('')).toBe(String.raw`\x1b[31mred`);
});

test('puts text on one line, and says when it left some out', () => {
  expect(oneLine('  a\n\tb  ', 10)).toBe('a b');
  expect(oneLine('x'.repeat(20), 10)).toBe(`${'x'.repeat(9)}…`);
  expect(oneLine(`${' '.repeat(100)}end`, 10)).toMatch(/…$/);
});

test('cuts a line between two words where one ends near, and never loses much for it (O18)', () => {
  expect(oneLine('the quick brown fox jumps', 18)).toBe('the quick brown…');
  expect(oneLine('the quick brown fox', 17)).toBe('the quick brown…');
  expect(oneLine(`a ${'x'.repeat(40)}`, 20)).toBe(`a ${'x'.repeat(17)}…`);
});

test('writes JSON that reads back the same and that no terminal acts on', () => {
  const value = { text: 'a\u009b31m\u2028\u202E\u001b[0m' };
  const line = jsonLine(value);
  expect(line).toMatch(/^[\u0020-\u007e]*$/);
  expect(JSON.parse(line)).toEqual(value);
});

test('a path in a command is one word of a shell, and its control characters are shown as text', () => {
  expect(shellWord('/work/a-b.txt')).toBe('/work/a-b.txt');
  expect(shellWord("/work/it's")).toBe(String.raw`'/work/it'\''s'`);
  expect(shellWord("a\u001b[31m'b\\\n\u009bc")).toBe(String.raw`$'a\u001b[31m\'b\\\u000a\u009bc'`);
});
