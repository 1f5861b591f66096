import fc from 'fast-check';
import { expect, test } from 'vitest';
import { countLines, previewText, resultHash, resultName } from '../../store/transcript/preview.ts';

const name = resultName('a'.repeat(64));

test('a preview keeps whole lines of both ends and says how to read the rest (L6)', () => {
  const text = Array.from({ length: 1_000 }, (_, n) => `line ${n + 1}`).join('\n') + '\n';
  expect(previewText(text, 60, name)).toBe(
    [
      'line 1\nline 2\nline 3\nline 4\nline 5',
      '[… 8,840 characters left out …]',
      'line 999\nline 1000\n',
      `[The result is large: 8,893 characters, 8,893 bytes, 1,000 lines. All of it was kept: read the rest with the read tool at path "${name}", using offset and limit.]`,
    ].join('\n'),
  );
});

test('a preview is bounded, well-formed, and made of both ends (L6)', () => {
  const texts = fc.string({ unit: fc.constantFrom('a', '\n', '😀', 'é', '\r'), minLength: 101, maxLength: 400 });
  fc.assert(
    fc.property(texts, fc.integer({ min: 10, max: 100 }), (text, limit) => {
      const made = previewText(text, limit, name);
      expect(made.length).toBeLessThan(limit + 300);
      expect(Buffer.from(made).toString()).toBe(made);
      const [head = '', rest = ''] = made.split('\n[… ');
      expect(text.startsWith(head)).toBe(true);
      const tail = rest.slice(rest.indexOf(' …]\n') + 4, rest.lastIndexOf('\n[The result'));
      expect(text.endsWith(tail)).toBe(true);
      expect(head.length + Number(/^\d+/.exec(rest)?.[0]) + tail.length).toBe(text.length);
    }),
  );
});

test('a preview of a result keeps lines of its middle that look like errors, with their numbers (L6)', () => {
  const lines = Array.from({ length: 1_000 }, (_, n) => `line ${n + 1}`);
  lines[499] = 'Error: the point';
  for (const at of [510, 520, 530]) lines[at] = 'a.c:7: fatal: the same';
  lines[600] = 'Found 0 errors. Tests: 0 failed, 12 passed';
  const text = lines.join('\n');
  const made = previewText(text, 400, name).split('\n');
  const note = made.findIndex((line) => line.endsWith('left out, except for these lines: …]'));
  expect(made.slice(note + 1, note + 4)).toEqual(['500: Error: the point', '511: a.c:7: fatal: the same', '[…]']);
  expect(made[note - 1]).toMatch(/^line \d+$/);
  expect(previewText(text, 400, name, 'message')).not.toContain('the point');
});

test('of many errors a preview keeps the first and the last, and stays within its limit (L6)', () => {
  const text = Array.from({ length: 5_000 }, (_, n) => `error ${n}: ${'x'.repeat(n % 400)}`).join('\n');
  const made = previewText(text, 10_000, name);
  expect(made.length).toBeLessThan(10_300);
  const kept = [...made.matchAll(/^(\d+): error/gm)].map(([, number]) => Number(number));
  expect(kept.length).toBeGreaterThan(10);
  expect(kept).toEqual(kept.toSorted((a, b) => a - b));
  expect((kept.at(-1) ?? 0) - (kept[0] ?? 0)).toBeGreaterThan(4_000);
});

test('what fits is its own preview', () => {
  expect(previewText('a\nb', 3, name)).toBe('a\nb');
});

test('a stored result has a name that gives back its hash, and nothing else does', () => {
  expect(resultHash(name)).toBe('a'.repeat(64));
  for (const bad of [
    'perdure:result/',
    `${name}0`,
    `x${name}`,
    'perdure:result/../../etc/passwd',
    name.toUpperCase(),
  ]) {
    expect(resultHash(bad)).toBeUndefined();
  }
});

test.each([
  ['', 0],
  ['a', 1],
  ['a\n', 1],
  ['a\nb', 2],
  ['\n\n', 2],
])('%j has %i lines', (text, lines) => {
  expect(countLines(text)).toBe(lines);
});
