import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createBoundedOutput } from '../../../../tools/builtin/shell/output.ts';

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

test('of what is left out, the lines that look like errors are kept', () => {
  const output = createBoundedOutput(100);
  const line = (n: number): string => `step ${n} is done, with no errors\n`;
  for (let n = 0; n < 50; n++)
    output.add(Buffer.from(n === 25 ? `${line(n)}E: the disk is broken, error 7\n` : line(n)));
  const { head, tail, errors } = output.ends();
  expect(errors).toEqual(['E: the disk is broken, error 7']);
  expect(head.toString()).not.toContain('disk');
  expect(tail.toString()).not.toContain('disk');
});
