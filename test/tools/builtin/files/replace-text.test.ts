import fc from 'fast-check';
import { expect, test } from 'vitest';
import { replaceText } from '../../../../tools/builtin/files/replace-text.ts';

function replaced(text: string, before: string, after: string, all = false): string {
  const result = replaceText(Buffer.from(text), before, after, { all, most: 4_000_000 });
  return result.kind === 'replaced' ? result.bytes.toString() : result.kind;
}

test.each([
  ['a file of CRLF lines gets CRLF', 'a\r\nb\r\nc\r\n', 'b', 'x\ny', 'a\r\nx\r\ny\r\nc\r\n'],
  ['old text with LF is found in it', 'a\r\nb\r\nc\r\n', 'a\nb', 'x', 'x\r\nc\r\n'],
  ['a file of mixed lines keeps what is written', 'a\r\nb\nc', 'b', 'x\ny', 'a\r\nx\ny\nc'],
  ['CRLF lines in a mixed file are found by LF text', 'a\r\nb\r\nc\nd', 'a\nb', 'x\ny', 'x\r\ny\r\nc\nd'],
  ['a file of one line has no line ends to keep', 'abc', 'b', '\n', 'a\nc'],
  ['CRLF text is not doubled', 'a\r\nb\r\n', 'a\r\nb', 'x\r\ny', 'x\r\ny\r\n'],
])('%s', (_, text, before, after, expected) => {
  expect(replaced(text, before, after)).toBe(expected);
});

test('without carriage returns it replaces as String.replaceAll does', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', '\n', 'é', '😀'), maxLength: 30 });
  fc.assert(
    fc.property(
      text,
      fc.string({ unit: fc.constantFrom('a', 'b', '\n', '😀'), minLength: 1, maxLength: 3 }),
      text,
      (content, before, after) => {
        const result = replaced(content, before, after, true);
        if (before === after) expect(result).toBe('same');
        else if (content.includes(before)) expect(result).toBe(content.replaceAll(before, () => after));
        else expect(result).toBe('absent');
      },
    ),
  );
});

test('more places than an edit ever means are refused, quickly', () => {
  expect(replaced('a'.repeat(2_000_000), 'a', 'b', true)).toBe('too_many');
});

test('a replacement that would make too much of a file is refused before it is made', () => {
  expect(replaced('ab'.repeat(50_000), 'a', 'c'.repeat(1_000_000), true)).toBe('too_large');
});

test('a text that repeats itself is found where it begins first', () => {
  expect(replaced('aabaabaab!aab', 'aabaab!', '-')).toBe('aab-aab');
  expect(replaced('aaaaa', 'aa', 'b', true)).toBe('bba');
});
