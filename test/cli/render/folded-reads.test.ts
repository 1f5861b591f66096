// Reads without a word between them are one row, however many they are.
import { expect, test } from 'vitest';
import { trackCallRows } from '../../../cli/render/call-rows.ts';
import { createPaint } from '../../../client/paint.ts';

function fold(calls: readonly (readonly [name: string, input: object, content: string])[]): string | null {
  const rows = trackCallRows(createPaint(false));
  for (const [iteration, [name, input, content]] of calls.entries()) {
    const call = { step: iteration, attempt: 1, iteration, index: 0, name } as const;
    rows.use({ ...call, type: 'tool_use', id: `c${iteration}`, input });
    expect(rows.end({ ...call, type: 'tool_end', isError: false, content, durationMs: 1 })).toBeNull();
  }
  const [pending] = rows.pending();
  const line = rows.flush();
  expect(pending ?? null).toBe(line);
  expect(rows.flush()).toBeNull();
  return line;
}

test('a read alone names its file and says how many lines it gave', () => {
  expect(fold([])).toBeNull();
  expect(fold([['read', { path: 'a.txt' }, 'one\ntwo\n']])).toBe('● read a.txt · 2 lines');
});

test('reads of each kind are counted, with the first names and all lines', () => {
  expect(
    fold([
      ['grep', { pattern: 'x' }, 'one'],
      ['read', { path: 'a.txt' }, 'one\ntwo'],
      ['read', { path: 'b.txt' }, ''],
    ]),
  ).toBe('● read 2 files, searched 1 pattern · x, a.txt, b.txt · 3 lines');
  const many = Array.from({ length: 500 }, (_, n) => ['read', { path: `src/${n}.ts` }, 'a\nb'] as const);
  expect(fold(many)).toMatch(/^● read 500 files · src\/0\.ts, src\/1\.ts, .{20,50}… · 1,000 lines$/);
});
