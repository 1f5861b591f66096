// What a terminal sends, cut at any place: keys, pastes, and what nobody typed.
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { typedSplitter, type TypedPart } from '../../../cli/typing/split-typed.ts';

const ESC = '\u001b';

/** What of the input counts, at the cuts; neighbouring keys are joined. */
function counted(input: string, sizes: readonly number[] = [input.length]): string {
  const splitter = typedSplitter();
  const parts: TypedPart[] = [];
  for (let at = 0, turn = 0; at < input.length; turn++) {
    const size = sizes[turn % sizes.length] ?? 1;
    parts.push(...splitter.take(input.slice(at, at + size)));
    at += size;
  }
  parts.push(...splitter.end());
  return parts
    .filter(({ kind }) => kind !== 'cursor')
    .map((part) => (part.kind === 'keys' ? part.text : `<${part.kind === 'paste' ? part.text : part.kind}>`))
    .join('');
}

const NOT_TYPED = {
  'a click': '[<0;12;40M',
  'a click that ends': '[<0;12;40m',
  'a click in the oldest form': '[M 1y',
  'a click in a highlighted region': '[t1y',
  'the end of a highlighted region': '[T1y1y1y',
  'a click in the form of urxvt': '[32;1;1M',
  'device attributes': '[?1;2c',
  'more device attributes': '[>41;330;0c',
  'a state': '[0n',
  'where the cursor is': '[1;1R',
  'a mode': '[?2026;1$y',
  'the focus': '[I',
  'the background colour, ended by a bell': ']11;rgb:1e1e/1e1e/1e1e\u0007',
  'the foreground colour, ended by ST': `]10;rgb:1e1e/yyyy/1111${ESC}\\`,
  'the name of the terminal': `P>|XTerm(331)${ESC}\\`,
  'a capability': `P1+r524742=31${ESC}\\`,
  'an answer about graphics': `_Gi=1;OK${ESC}\\`,
  'a private message': `^y1${ESC}\\`,
  'a function key': '[15~',
  'a function key of a console': '[[A',
  'a function key of a keypad': 'OP',
  'a number with Ctrl, as fixterms have it': '[49;5u',
  'a letter with Ctrl and Alt, as xterm has it': '[27;7;121~',
  'a key that is let go': '[13;1:3u',
  'a size': '[8;24;80t',
} as const;
const unseen = Object.values(NOT_TYPED).map((body) => ESC + body);

test.each(Object.entries(NOT_TYPED))('%s is no key, however it is cut, and what follows is one (O18)', (_, body) => {
  for (const sizes of [[1_000], [1], [2], [3], [1, 5]]) expect(counted(`${ESC}${body}n`, sizes)).toBe('n');
  const [intro = '', rest] = [body[0], body.slice(1)];
  if ('[]P^_'.includes(intro)) expect(counted(`${String.fromCharCode(intro.charCodeAt(0) + 0x40)}${rest}n`)).toBe('n');
});

test.each([
  ['Shift-Enter as fixterms have it', '[13;2u', '<line break>'],
  ['Shift-Enter as xterm has it', '[27;2;13~', '<line break>'],
  ['Ctrl-Enter as xterm has it', '[27;5;13~', '<line break>'],
  ['Ctrl-C as fixterms have it', '[99;5u', '\u0003'],
  ['Ctrl-C with the lock of capitals', '[99;69u', '\u0003'],
  ['Ctrl-C as xterm has it', '[27;5;99~', '\u0003'],
  ['Enter as kitty has it', '[13u', '\r'],
  ['Escape as kitty has it', '[27u', '<escape>'],
  ['Shift-Tab as fixterms have it', '[9;2u', '\u001b[Z'],
])('%s is that key (O18)', (_, body, meant) => {
  for (const sizes of [[1_000], [1]]) expect(counted(ESC + body, sizes)).toBe(meant);
});

test('keys in the forms that are known pass as they are', () => {
  const known = ['[A', '[1;5D', 'OB', '[Z', '[3~', '[3;5~', '[7$', 'b', '\r', '\u007f', 'ü', '😀', `${ESC}[A`];
  for (const body of known) for (const sizes of [[1_000], [1]]) expect(counted(ESC + body, sizes)).toBe(ESC + body);
});

test('a paste right behind Escape is a paste, and Escape a key of its own (O18)', () => {
  for (const sizes of [[1_000], [1], [2], [3]]) {
    expect(counted(`${ESC}${ESC}[200~1\ry${ESC}[201~n`, sizes)).toBe('<escape><1\ry>n');
    expect(counted(`${ESC}\u009b<0;12;40Mn`, sizes)).toBe('<escape>n');
    expect(counted(`${ESC}${ESC}[<0;12;40Mn`, sizes)).toBe('<escape>n');
  }
});

test('a paste ends with the kind of mark that it began with, and has the other one as text (O18)', () => {
  for (const sizes of [[1_000], [1], [3]]) {
    expect(counted('\u009b200~1\u009b201~n', sizes)).toBe('<1>n');
    expect(counted(`${ESC}[200~a\u009b201~1${ESC}[201~n`, sizes)).toBe('<a\u009b201~1>n');
  }
});

test('a click beyond what its form can tell leaves the next one whole (O18)', () => {
  // Column 163 of row 105 are two bytes, which are one character in UTF-8.
  for (const sizes of [[1_000], [1]]) expect(counted(`${ESC}[M \u00e9${ESC}[M 1Hn`, sizes)).toBe('n');
});

test('a sequence that is broken off is dropped, and keys after it count', () => {
  expect(counted(`${ESC}[1\ry`)).toBe('\ry');
  expect(counted(`${ESC}[?1${ESC}[Ay`)).toBe(`${ESC}[Ay`);
  expect(counted(`${ESC}]11;rgb:1${ESC}[Ay`)).toBe(`${ESC}[Ay`);
  expect(counted(`${ESC}P1\u0018y`)).toBe('y');
  for (const open of ['[', '[1;2', ']11;rgb:y', 'P1y', 'O', '[M1', `]1${ESC}`]) expect(counted(ESC + open)).toBe('');
});

test('Escape alone waits for what may follow, and twice is twice', () => {
  const splitter = typedSplitter();
  expect([splitter.take(ESC), splitter.open, splitter.end()]).toEqual([[], 'escape', [{ kind: 'escape' }]]);
  expect(counted(`${ESC}${ESC}`)).toBe('<escape><escape>');
});

test('nothing that is typed is lost, no paste is split, and nothing else counts, wherever the input is cut', () => {
  const part = fc.constantFrom(
    'abc',
    '1',
    'ü',
    `${ESC}[A`,
    `${ESC}[200~x\ny${ESC}[201~`,
    `${ESC}[200~${ESC}[31m1${ESC}[201~`,
    ...unseen,
  );
  const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(fc.array(part, { maxLength: 8 }), sizes, (all, cuts) => {
      const wanted = all
        .filter((one) => !unseen.includes(one))
        .map((one) => (one.startsWith(`${ESC}[200~`) ? `<${one.slice(6, -6)}>` : one))
        .join('');
      expect(counted(all.join(''), cuts)).toBe(wanted);
    }),
  );
});
