// Keys and pastes as a terminal sends them, in pieces of any size.
import { EventEmitter } from 'node:events';
import { expect, test, vi } from 'vitest';
import { openKeyboard } from '../../../cli/typing/keyboard.ts';
import { type KeyPress, newEditor, pressKey } from '../../../cli/typing/line-editor.ts';
import { pressMenuKey } from '../../../cli/typing/picker.ts';

type Pressed = readonly [typed: string | undefined, name: string | undefined];

function keyboard() {
  const stdin = Object.assign(new EventEmitter(), { pause: () => stdin, resume: () => stdin, setRawMode: () => stdin });
  const pressed: Pressed[] = [];
  const keys: [string | undefined, KeyPress][] = [];
  const board = openKeyboard({ stdin: stdin as never, write: () => undefined });
  board.start((typed, key) => {
    pressed.push([typed, key.name]);
    keys.push([typed, key]);
  });
  return { pressed, keys, board, send: (bytes: Buffer) => void stdin.emit('data', bytes) };
}

test('a paste is one key, however many pieces it comes in, and keys around it are keys (O20)', () => {
  const { pressed, send, board } = keyboard();
  const bytes = Buffer.from('a\u001b[200~ü\n\u001b[31mb\u001b[201~c\r');
  for (const byte of bytes) send(Buffer.from([byte]));
  board.stop();
  const whole = keyboard();
  whole.send(bytes);
  whole.board.stop();
  expect(pressed).toEqual([
    ['a', 'a'],
    ['ü\nb', 'paste'],
    ['c', 'c'],
    ['\r', 'return'],
  ]);
  expect(whole.pressed).toEqual(pressed);
});

test('what a terminal sends by itself presses no key, in however many pieces, also when its Escape came before (O18)', async () => {
  vi.useFakeTimers();
  try {
    const { pressed, send, board } = keyboard();
    for (const byte of Buffer.from('\u001b[<0;12;40M\u001b]11;rgb:1e1e/1e1e/1e1e\u0007\u001b[27;5;49~'))
      send(Buffer.from([byte]));
    send(Buffer.from('\u001b[?1;'));
    await vi.advanceTimersByTimeAsync(900);
    send(Buffer.from('2c'));
    expect(pressed).toEqual([]);
    send(Buffer.from('\u001b'));
    await vi.advanceTimersByTimeAsync(100);
    send(Buffer.from('[?1;2c'));
    send(Buffer.from('\u001b['));
    await vi.advanceTimersByTimeAsync(1_100);
    send(Buffer.from('1'));
    expect(pressed).toEqual([
      [undefined, 'escape'],
      ['1', '1'],
    ]);
    board.stop();
  } finally {
    vi.useRealTimers();
  }
});

test('Enter with Shift or Ctrl breaks a line of a message, and chooses nothing at a question (O18)', () => {
  const { keys, send, board } = keyboard();
  for (const enter of ['\u001b[27;2;13~', '\u001b[13;5u', '\u001b\r']) send(Buffer.from(enter));
  board.stop();
  const menu = { heading: '', options: [{ answer: 'y', words: 'yes', keys: ['y'] }] };
  for (const [typed, key] of keys) {
    expect(pressKey(newEditor([], 'a'), typed, key).editor.text).toBe('a\n');
    expect(pressMenuKey(menu, 0, typed, key).answer).toBeNull();
  }
  expect(keys).toHaveLength(3);
});

test('a terminal is asked once, its first answer counts, and no answer presses a key, in however many pieces (O18)', () => {
  const stdin = Object.assign(new EventEmitter(), { pause: () => stdin, resume: () => stdin, setRawMode: () => stdin });
  const [pressed, columns, asked]: [string[], number[], string[]] = [[], [], []];
  const query = { ask: () => asked.push('asked') > 0, answer: (column: number) => void columns.push(column) };
  const board = openKeyboard({ stdin: stdin as never, write: () => undefined, query });
  for (let time = 0; time < 2; time += 1) {
    board.start((typed) => void pressed.push(typed ?? ''));
    for (const byte of Buffer.from('a\u001b[12;3Rb')) stdin.emit('data', Buffer.from([byte]));
    board.stop();
  }
  expect([asked, columns, pressed]).toEqual([['asked'], [3], ['a', 'b', 'a', 'b']]);
});

test('an introducer of one byte begins a sequence, and a character that has such a byte is itself (O18)', () => {
  const { pressed, send, board } = keyboard();
  const bytes = [
    0x9b,
    ...Buffer.from('<0;12;40M'),
    0x90,
    ...Buffer.from('1$r0m'),
    0x9c,
    ...Buffer.from('🛟ßᛒü', 'utf8'),
  ];
  for (const byte of bytes) send(Buffer.from([byte]));
  board.stop();
  expect(pressed.map(([typed]) => typed).join('')).toBe('🛟ßᛒü');
});

test('what comes as several characters at once, as from a terminal that marks no paste, answers no question (O18)', async () => {
  vi.useFakeTimers();
  try {
    const { keys, send, board } = keyboard();
    send(Buffer.from('hello 1\ry'));
    // The rest of a click that came in two pieces with a long pause between them.
    send(Buffer.from('\u001b[<0;'));
    await vi.advanceTimersByTimeAsync(1_100);
    send(Buffer.from('1;40M'));
    const menu = { heading: '', options: [{ answer: 'y', words: 'yes', keys: ['y'] }], escape: 'n' };
    const answers = (): unknown[] => keys.map(([typed, key]) => pressMenuKey(menu, 0, typed, key).answer);
    expect(answers().filter((one) => one !== null)).toEqual([]);
    keys.length = 0;
    // A key that moves and one that chooses may come together from a busy machine.
    for (const one of ['1', '\u001b[B\r', 'y']) send(Buffer.from(one));
    expect(answers()).toEqual(['y', null, 'y', 'y']);
    board.stop();
  } finally {
    vi.useRealTimers();
  }
});
