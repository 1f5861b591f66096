import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cleanText } from '../../../../tools/builtin/shell/clean-text.ts';
import { createBoundedOutput } from '../../../../tools/builtin/shell/bounded-output.ts';

test('an output in any pieces keeps its two ends, and says how much is missing between them', () => {
  const pieces = fc.array(fc.uint8Array({ maxLength: 40, max: 0x7f }), { maxLength: 20 });
  fc.assert(
    fc.property(pieces, fc.integer({ min: 1, max: 50 }), (parts, kept) => {
      const output = createBoundedOutput(kept);
      const reused = Buffer.alloc(40);
      for (const part of parts) {
        reused.set(part);
        output.add(reused.subarray(0, part.length));
        reused.fill(0xff);
      }
      const whole = Buffer.concat(parts);
      const { head, tail, omitted } = output.ends();
      expect(head).toEqual(whole.subarray(0, kept));
      expect(tail).toEqual(whole.subarray(Math.max(kept, whole.length - kept)));
      expect(omitted).toBe(Math.max(0, whole.length - 2 * kept));
    }),
    { numRuns: 500 },
  );
});

test('no character is cut where bytes were left out', () => {
  const output = createBoundedOutput(10);
  output.add(Buffer.from('😀'.repeat(20)));
  const { head, tail, omitted } = output.ends();
  expect([head.toString(), tail.toString(), omitted]).toEqual(['😀😀', '😀😀', 64]);
});

test.each([
  ['colours', '\u001b[1;31mred\u001b[0m', 'red'],
  ['cursor movement', 'a\u001b[2K\u001b[1Gb', 'ab'],
  ['a title', '\u001b]0;my title\u0007a', 'a'],
  ['a link', '\u001b]8;;http://x\u001b\\text\u001b]8;;\u001b\\', 'text'],
  ['a title that never ends', '\u001b]0;text goes on\nand on', '0;text goes on\nand on'],
  ['a character set', '\u001b(Ba', 'a'],
  ['NUL, bell, backspace and C1', 'a\u0000\u0007\b\u0085b', 'ab'],
  ['a lone escape', 'a\u001b', 'a'],
  ['line ends', 'a\r\nb\rc\r\r\nd', 'a\nb\nc\nd'],
  ['tabs and separators', 'a\tb\u2028c', 'a\tb\u2028c'],
])('%s', (_, text, expected) => {
  expect(cleanText(Buffer.from(text))).toBe(expected);
});

test('any bytes become text that can be sent, in time linear in their length', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      const text = cleanText(Buffer.from(bytes));
      expect(Buffer.from(text).toString()).toBe(text);
      // oxlint-disable-next-line no-control-regex
      expect(text).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f]/);
    }),
  );
  const before = process.cpuUsage();
  for (const piece of ['\u001b]', '\u001b[', '\u001bP', '\u001b', '\r'])
    cleanText(Buffer.from(piece.repeat(1_000_000)));
  // Seconds of processor time; what grows with the square of the length takes hours.
  expect(process.cpuUsage(before).user / 1e6).toBeLessThan(30);
});
