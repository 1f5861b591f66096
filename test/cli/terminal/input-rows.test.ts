// The rows of what is typed, for texts of any length.
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { inputRows } from '../../../cli/typing/typed-rows.ts';

const look = { prompt: '> ', columns: 20, most: 4 };

/** The rows as they are where all of them are laid out. */
function laidOutWhole(text: string, cursor: number) {
  const { rows, cursor: at } = inputRows({ text, cursor }, { ...look, most: 100_000 });
  const from = Math.max(0, Math.min(at.row, rows.length - look.most));
  return { rows: rows.slice(from, from + look.most), cursor: { row: at.row - from, column: at.column } };
}

test('a long text shows the rows that it would show if all of it were laid out (O18)', () => {
  const line = fc.string({ unit: fc.constantFrom('a', 'b', ' ', 'ü'), maxLength: 60 });
  fc.assert(
    fc.property(fc.array(line, { minLength: 1, maxLength: 60 }), fc.nat(), (lines, place) => {
      const text = lines.join('\n');
      const cursor = place % (text.length + 1);
      expect(inputRows({ text, cursor }, look)).toEqual(laidOutWhole(text, cursor));
    }),
  );
});

test('of a line of a million characters the rows around the cursor are laid out (O18)', () => {
  const { rows, cursor } = inputRows({ text: 'x'.repeat(1_000_000), cursor: 1_000_000 }, look);
  expect([rows.length, rows.at(-1)?.trim().replaceAll('x', ''), cursor.row]).toEqual([4, '', 3]);
});
