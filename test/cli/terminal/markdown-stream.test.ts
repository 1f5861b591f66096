// Markdown on a terminal, as it comes.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { showUnseen } from '../../../system/text.ts';
import { createPaint } from '../../../client/paint.ts';
import { textStream } from '../../../cli/terminal/markdown-stream.ts';
import { displayWidth } from '../../../client/render/width.ts';

const plain = createPaint(false);

function rendered(text: string, { columns = 40, every = text.length || 1, paint = plain } = {}): readonly string[] {
  const stream = textStream({ paint, columns: () => columns });
  const rows: string[] = [];
  for (let from = 0; from < text.length; from += every) rows.push(...stream.add(text.slice(from, from + every)));
  return [...rows, ...stream.end()];
}

test.each<[string, string, readonly string[]]>([
  ['a heading', '## Title\n', ['Title']],
  ['marked words', '**strong**, *soft*, ~~gone~~, `a*b*c`', ['strong, soft, gone, a*b*c']],
  [
    'stars and underscores that mean nothing',
    'src/*.ts, lib/*.js, 2 * 3 * 4, a_b_c',
    ['src/*.ts, lib/*.js, 2 * 3 * 4, a_b_c'],
  ],
  ['a link with its address', '[docs](https://a.example)', ['docs (https://a.example)']],
  [
    'lists with a hanging inset',
    '- one two three four five six seven eight nine\n  1. x',
    ['• one two three four five six seven eight'.slice(0, 35), '  eight nine', '  1. x'],
  ],
  ['tasks', '- [ ] a\n- [x] b', ['• ☐ a', '• ☑ b']],
  ['a quote', '> a\n> b', ['│ a', '│ b']],
  ['code as it is', '```ts\n  if (a * b * c) {\n```\nend', ['  ts', '    if (a * b * c) {', 'end']],
  ['a table', '| a | b |\n|---|---|\n| 漢字 | **c** |\n', ['a    │ b', '─────┼──', '漢字 │ c']],
  [
    'a table that is too wide as it was written',
    `| ${'word '.repeat(9)}|\n|---|\n`,
    ['| word word word word word word word', 'word word |', '|---|'],
  ],
  ['an escaped star', String.raw`\*a\*`, ['*a*']],
  ['an open mark as it was written', '**never closed', ['**never closed']],
])('%s is rendered, whole or letter by letter (O18)', (_what, text, rows) => {
  expect(rendered(text)).toEqual(rows);
  expect(rendered(text, { every: 1 })).toEqual(rows);
});

test('rows are broken between words, by their width, and styles go on (O18)', () => {
  const rows = rendered('漢字 '.repeat(20), { columns: 21 });
  expect(rows[0]).toBe('漢字 漢字 漢字 漢字');
  const strong = rendered(`**${'bold '.repeat(15)}end** plain`, { columns: 30, every: 3, paint: createPaint(true) });
  expect(strong.every((row) => displayWidth(row) < 30)).toBe(true);
  expect(strong.at(-1)).toContain('\u001b[1mend\u001b[22m');
  expect(strong.join('')).not.toContain('*');
});

test('a row that was given away is never drawn again, and at most a few are held back (O18)', () => {
  const stream = textStream({ paint: plain, columns: () => 40 });
  const rows: string[] = [];
  let most = 0;
  for (const word of 'the quick brown fox jumps over the lazy dog '.repeat(20).split(/(?<= )/)) {
    rows.push(...stream.add(word));
    most = Math.max(most, stream.pending().length);
  }
  rows.push(...stream.end());
  expect(most).toBe(4);
  expect(rows.join(' ').trimEnd()).toBe('the quick brown fox jumps over the lazy dog '.repeat(20).trim());
});

test('a line of a megabyte goes out in pieces, in a time that grows with it (O18)', () => {
  const hostile = '*a _b `c [d](e) '.repeat(4_000);
  const stream = textStream({ paint: plain, columns: () => 80 });
  const rows = stream.add(hostile);
  expect(stream.pending().join('').length).toBeLessThan(6_000);
  expect([...rows, ...stream.end()].join('').replaceAll(' ', '').length).toBeGreaterThanOrEqual(40_000);
});

test('nothing of what a model says acts on the terminal, and no letter of plain words is lost (O18)', () => {
  const evil = '\u001b]52;c;aGk=\u0007 \u001b]8;;http://x\u0007a\u001b[2J \u202e**b**';
  expect(rendered(showUnseen(evil)).join('\n')).toBe(showUnseen(rendered(showUnseen(evil)).join('\n')));
  const words = fc.array(
    fc.constantFrom('a', 'bc', '漢字', '*', '**', '_', '`', '[', '](', ')', '#', '-', '|', '\n', '\\', '~~', '> '),
  );
  fc.assert(
    fc.property(words, fc.integer({ min: 1, max: 5 }), fc.integer({ min: 22, max: 60 }), (parts, every, columns) => {
      const text = parts.join(' ');
      const letters = (from: string): string => from.replaceAll(/[^a-z漢字]/g, '');
      expect(letters(rendered(text, { every, columns }).join(''))).toBe(letters(text));
    }),
    { numRuns: 150 },
  );
});
