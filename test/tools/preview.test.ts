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
