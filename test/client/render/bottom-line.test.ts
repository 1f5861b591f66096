// The line at the bottom of a terminal, as a terminal shows it.
import { expect, test } from 'vitest';
import { bottomLine } from '../../../client/render/bottom-line.ts';

/** A terminal of one column of lines: the text of each, after what was written. */
function terminal(columns = 40) {
  let screen = '';
  const write = (text: string): void => {
    for (const [n, part] of text.split('\r\u001b[2K').entries())
      screen = (n === 0 ? screen : screen.slice(0, screen.lastIndexOf('\n') + 1)) + part;
  };
  const line = bottomLine({ write, columns: () => columns, style: (text) => text });
  return { line, print: (text: string) => line.above(text, write), screen: () => screen };
}

test('the line stays below what is written, and leaves nothing behind (O18)', () => {
  const { line, print, screen } = terminal();
  line.show('asks');
  print('one\n');
  expect(screen()).toBe('one\nasks');
  line.show('runs bash');
  expect(screen()).toBe('one\nruns bash');
  print('two\n');
  line.show(null);
  expect(screen()).toBe('one\ntwo\n');
});

test('text that streams is not cut: the line waits until the next one begins (O18)', () => {
  const { line, print, screen } = terminal();
  line.show('the model writes');
  print('Hel');
  line.show('the model writes, 1 s');
  print('lo');
  expect(screen()).toBe('Hello');
  print(' there.\n');
  expect(screen()).toBe('Hello there.\nthe model writes, 1 s');
});

test('while a person is asked the line is away, and comes back once (O18)', () => {
  const { line, print, screen } = terminal();
  line.show('waits for a decision');
  const [first, second] = [line.hide(), line.hide()];
  print('bash? \n');
  expect(screen()).toBe('bash? \n');
  first();
  first();
  expect(screen()).toBe('bash? \n');
  second();
  expect(screen()).toBe('bash? \nwaits for a decision');
});

test('a line that is wider than the terminal is cut before its last column, and a narrow terminal has none (O18)', () => {
  const wide = terminal(20);
  wide.line.show('0123456789012345678901234');
  expect(wide.screen()).toBe('012345678901234567…');
  const narrow = terminal(10);
  narrow.line.show('asks');
  expect(narrow.screen()).toBe('');
});
