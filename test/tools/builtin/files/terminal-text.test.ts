import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createTerminalText, decodePlain, renderTerminal } from '../../../../tools/builtin/files/terminal-text.ts';

const render = (text: string): string => renderTerminal(Buffer.from(text));

function renderPieces(pieces: readonly Uint8Array[]): string {
  const out: Buffer[] = [];
  const terminal = createTerminalText((bytes) => out.push(Buffer.from(bytes)));
  for (const piece of pieces) terminal.write(piece);
  terminal.end();
  return decodePlain(Buffer.concat(out));
}

test.each([
  ['colours', '\u001b[1;31mred\u001b[0m', 'red'],
  ['a title', '\u001b]0;my title\u0007a', 'a'],
  ['a link', '\u001b]8;;http://x\u001b\\text\u001b]8;;\u001b\\', 'text'],
  ['a title that never ends', '\u001b]0;text goes on\nand on', '0;text goes on\nand on'],
  ['a character set', '\u001b(Ba', 'a'],
  ['NUL, bell and C1', 'a\u0000\u0007\u0085b', 'ab'],
  ['a lone escape', 'a\u001b', 'a'],
  ['line ends', 'a\r\nb\r\r\nd\n', 'a\nb\nd\n'],
  ['tabs, separators and blanks at the end', 'a\tb\u2028c  \n', 'a\tb\u2028c  \n'],
])('text stays as it is without %s', (_, text, expected) => {
  expect(render(text)).toBe(expected);
});

// What xterm shows of the same text.
test.each([
  ['a bar that is drawn again', '\r10% [=  ]\r99% [== ]\r100% [===]\n', '100% [===]\n'],
  ['a shorter text over a longer one', 'Compiling\rok', 'okmpiling'],
  ['a text that is wiped with blanks', 'Compiling\r         \rok\n', 'ok\n'],
  ['a line that is erased', 'Compiling\r\u001b[Kok\u001b[2K\u001b[1Gdone', 'done'],
  ['a spinner of backspaces', '|\b/\b-\bdone\n', 'done\n'],
  ['a word taken back', 'abc\b\b\b   \b\b\bx', 'x'],
  ['bold by overstriking', 'b\bbo\bo_\bu', 'bou'],
  [
    'bars of several lines',
    'a 1%\nb 1%\n\u001b[2A\ra 99%\nb 50%\n\u001b[2A\u001b[Ka done\nb done\n',
    'a done\nb done\n',
  ],
  ['lines erased below', 'a\nb\nc\n\u001b[2A\u001b[Jd\n', 'a\nd\n'],
  ['a place that is kept', '12\u001b7 34\u001b8ab', '12ab4'],
  ['columns', 'ab\u001b[5Gc\u001b[2Dd', 'ab dc'],
  ['a line below that is not there yet', 'ab\u001b[Bc', 'ab\n  c'],
  ['half of a wide character', '下载\ra', 'a 载'],
  ['half of a tab', 'a\tb\r12345', '12345   b'],
  ['wide characters by their columns', '下载 10%\rDone', 'Done 10%'],
  ['a mark over its character', 'e\u0301x\ra', 'ax'],
])('%s is as a terminal shows it', (_, text, expected) => {
  expect(render(text)).toBe(expected);
});

test('a screen that a program draws again is its last state, below what was before it', () => {
  const frame = (n: number): string => `\u001b[H\u001b[KRound ${n}\n\u001b[Krest`;
  expect(render(`before\n\u001b[2J${frame(1)}${frame(2)}${frame(3)}`)).toBe('before\nRound 3\nrest');
  expect(render(`before\n${frame(1)}${frame(2)}`)).toBe('before\nRound 2\nrest');
  expect(render('error\n\u001b[2J\u001b[Hagain')).toBe('error\nagain');
});

test('lines far above cannot be drawn over, and nothing of them is lost', () => {
  const lines = Array.from({ length: 500 }, (_, n) => `line ${n}\n`).join('');
  const shown = render(`${lines}\u001b[400A\rover`).split('\n');
  expect(shown.slice(0, 400)).toEqual(lines.split('\n').slice(0, 400));
  expect(shown.filter((line) => line.startsWith('over'))).toHaveLength(1);
  expect(shown.length).toBeGreaterThanOrEqual(500);
});

test('a line longer than any row stays one line', () => {
  const long = 'x'.repeat(3_000) + '下'.repeat(3_000);
  expect(render(`${long}\n\u001b[1mb\u001b[0m${long}`)).toBe(`${long}\nb${long}`);
});

test('the same bytes in any pieces give the same text', () => {
  const part = fc.constantFrom(
    'a',
    'bc\n',
    '\r',
    '\b',
    '下',
    '😀',
    'e\u0301',
    '\t',
    '\u001b[K',
    '\u001b[2A',
    '\u001b[31m',
    '\u001b]0;t\u0007',
    '\u001b]8;;x\u001b\\',
    '\u001b7',
    '\u001b8',
    '\n',
  );
  const text = fc.array(part, { maxLength: 60 }).map((parts) => Buffer.from(parts.join('')));
  const plain = fc.integer({ min: 20, max: 60 }).map((n) => Buffer.from('plain\n'.repeat(n)));
  fc.assert(
    fc.property(
      fc.array(fc.oneof(text, plain), { maxLength: 4 }),
      fc.infiniteStream(fc.integer({ min: 1, max: 90 })),
      (texts, cuts) => {
        const whole = Buffer.concat(texts);
        const pieces: Buffer[] = [];
        for (let at = 0; at < whole.length; at += pieces.at(-1)?.length ?? 0)
          pieces.push(whole.subarray(at, at + cuts.next().value));
        const shown = renderPieces(pieces);
        // Cursor movement over more lines than are held depends on the pieces: two up are not.
        expect(shown).toBe(renderTerminal(whole));
      },
    ),
    { numRuns: 300 },
  );
});

test('plain output in large pieces is not changed, and its last lines can be drawn over', () => {
  const lines = Array.from({ length: 3_000 }, (_, n) => `line ${n} é\t\u2028  \n`).join('');
  const bar = 'bar 1%\nnext\n';
  const pieces = ['\rstart', lines, lines + bar, '\u001b[2A\rbar 99%\n'].map((text) => Buffer.from(text));
  expect(renderPieces(pieces)).toBe(`start${lines}${lines}bar 99%\nnext`);
});

test('any bytes become text that can be sent, in time linear in their length', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      const text = renderTerminal(Buffer.from(bytes));
      expect(Buffer.from(text).toString()).toBe(text);
      // oxlint-disable-next-line no-control-regex
      expect(text).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f]/);
    }),
  );
  const before = process.cpuUsage();
  for (const piece of [
    '\u001b]',
    '\u001b[',
    '\u001bP',
    '\u001b',
    '\r',
    '\b',
    '\u001b[1;',
    '\u0301',
    '\t',
    '\u001b[A\n',
  ])
    renderPieces(Array.from({ length: 16 }, () => Buffer.from(piece.repeat(65_536))));
  // Seconds of processor time; what grows with the square of the length takes hours.
  expect(process.cpuUsage(before).user / 1e6).toBeLessThan(60);
});

test('a bar of 100 MB costs the memory of its line', () => {
  const piece = Buffer.from('\rDownloading 50% [=====     ]'.repeat(2_000));
  let passed = 0;
  const terminal = createTerminalText((bytes) => (passed += bytes.length));
  for (let n = 0; n < 200; n++) terminal.write(piece);
  expect(passed).toBe(0);
  terminal.end();
  expect(passed).toBe('Downloading 50% [=====     ]'.length);
});
