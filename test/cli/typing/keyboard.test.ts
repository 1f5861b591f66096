// Keys and pastes as a terminal sends them, in pieces of any size.
import { EventEmitter } from 'node:events';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { openKeyboard } from '../../../cli/typing/keyboard.ts';
import { pasteSplitter, type TypedPart } from '../../../cli/typing/split-pastes.ts';

type Pressed = readonly [typed: string | undefined, name: string | undefined];

function keyboard() {
  const stdin = Object.assign(new EventEmitter(), { pause: () => stdin, resume: () => stdin, setRawMode: () => stdin });
  const pressed: Pressed[] = [];
  const board = openKeyboard({ stdin: stdin as never, write: () => undefined });
  board.start((typed, { name }) => void pressed.push([typed, name]));
  return { pressed, board, send: (bytes: Buffer) => void stdin.emit('data', bytes) };
}

test('a paste is one key, however many pieces it comes in, and keys around it are keys (O20)', () => {
  const { pressed, send, board } = keyboard();
  const bytes = Buffer.from('a\u001b[200~ü\n\u001b[31mb\u001b[201~c\r');
  for (const byte of bytes) send(Buffer.from([byte]));
  board.stop();
  // A mark whose first byte came alone is a key to Node; the rest of the paste comes key by key
  // then.
  const whole = keyboard();
  whole.send(bytes);
  whole.board.stop();
  expect(whole.pressed).toEqual([
    ['a', 'a'],
    ['ü\n\u001b[31mb', 'paste'],
    ['c', 'c'],
    ['\r', 'return'],
  ]);
  expect(pressed.map(([typed]) => typed ?? '').join('')).toContain('ü');
  expect(pressed.at(-1)).toEqual(['\r', 'return']);
});

test('Escape alone is told at once', () => {
  expect(pasteSplitter()('\u001b')).toEqual([{ kind: 'keys', text: '\u001b' }]);
});

const joined = (parts: readonly TypedPart[]): string =>
  parts.map(({ kind, text }) => (kind === 'paste' ? `<${text}>` : text)).join('');

test('nothing of the input is lost, and no paste is split, at whatever places the input is cut', () => {
  const part = fc.constantFrom(
    'abc',
    '\u001b[A',
    '\u001b[200~x\ny\u001b[201~',
    '\u001b[200~\u001b[201~',
    'ü',
    '\u001b[2~',
  );
  const input = fc.record({
    parts: fc.array(part, { maxLength: 8 }),
    cuts: fc.infiniteStream(fc.integer({ min: 3, max: 9 })),
  });
  fc.assert(
    fc.property(input, ({ parts, cuts }) => {
      const all = `${parts.join('')}!`;
      const split = pasteSplitter();
      const found: TypedPart[] = [];
      for (let at = 0; at < all.length;) {
        let end = at + cuts.next().value;
        // A mark of which one or two characters came is taken for the key Escape.
        while (['\u001b', '\u001b['].some((cut) => all.slice(0, end).endsWith(cut))) end += 1;
        found.push(...split(all.slice(at, end)));
        at = end;
      }
      expect(joined(found)).toBe(joined(pasteSplitter()(all)));
    }),
  );
});
