// Markdown on the page: which blocks a reply has, how its code is coloured, and where its links
// lead.
import { expect, test } from 'vitest';
import { htmlOf } from '../../../page/layout.tsx';
import { codeTokens, languageOf } from '../../../page/text/code-tokens.ts';
import { parseMarkdown } from '../../../page/text/markdown.ts';
import { MarkdownText } from '../../../page/text/markdown-view.tsx';

const html = (text: string): string => htmlOf(MarkdownText({ text }));

test('a reply has the blocks that it was written with: headings, lists, tables, code and quotes', () => {
  const text = [
    '## Findings ##',
    'Two lines',
    'of one paragraph.',
    '',
    '1. first',
    '   - within it',
    '2. second',
    '',
    '- [x] done',
    '- [ ] open',
    '',
    '| a | b |',
    '|---|---|',
    '| 1 | x \\| y |',
    '',
    '```Python',
    'def f():',
    '    # not a heading',
    '```',
    '> quoted',
    '> - and a list',
    '---',
  ].join('\n');
  expect(parseMarkdown(text)).toEqual([
    { kind: 'heading', level: 2, text: 'Findings' },
    { kind: 'paragraph', text: 'Two lines\nof one paragraph.' },
    {
      kind: 'list',
      start: 1,
      items: [
        {
          ticked: null,
          blocks: [
            { kind: 'paragraph', text: 'first' },
            {
              kind: 'list',
              start: null,
              items: [{ ticked: null, blocks: [{ kind: 'paragraph', text: 'within it' }] }],
            },
          ],
        },
        { ticked: null, blocks: [{ kind: 'paragraph', text: 'second' }] },
      ],
    },
    {
      kind: 'list',
      start: null,
      items: [
        { ticked: true, blocks: [{ kind: 'paragraph', text: 'done' }] },
        { ticked: false, blocks: [{ kind: 'paragraph', text: 'open' }] },
      ],
    },
    { kind: 'table', sides: [null, null], head: ['a', 'b'], rows: [['1', 'x | y']] },
    { kind: 'code', language: 'python', text: 'def f():\n    # not a heading' },
    {
      kind: 'quote',
      blocks: [
        { kind: 'paragraph', text: 'quoted' },
        { kind: 'list', start: null, items: [{ ticked: null, blocks: [{ kind: 'paragraph', text: 'and a list' }] }] },
      ],
    },
    { kind: 'rule' },
  ]);
});

test('a code block that was cut off, and words that look like marks, lose nothing', () => {
  expect(parseMarkdown('```\none\ntwo')).toEqual([{ kind: 'code', language: '', text: 'one\ntwo' }]);
  expect(html('a_b_c and 2 * 3 * 4 and src/*.ts')).toBe('<p>a_b_c and 2 * 3 * 4 and src/*.ts</p>');
});

test('a link shows its host and leads there without a referrer; other schemes, images and HTML are text', () => {
  const link = 'rel="noreferrer noopener nofollow" target="_blank"';
  expect(html('[docs](https://example.com/a)')).toBe(
    `<p><a href="https://example.com/a" ${link}>docs</a><span class="host"> (example.com)</span></p>`,
  );
  expect(html('see https://example.com/b.')).toContain(`<a href="https://example.com/b" ${link}>`);
  for (const text of ['[x](javascript:alert(1))', '[x](data:text/html,y)', '[x](https://a@b.example/)'])
    expect(html(text)).not.toContain('<a');
  expect(html('![x](https://example.com/i.png) <img src=x onerror=y> <script>')).not.toMatch(/<img|<script/);
});

test('unseen characters are named in every part of a reply', () => {
  expect(html('# a\u202eb\n\n```js\nc\u202ed\n```\n\n[e\u202ef](https://x.example/)')).not.toContain('\u202e');
});

test('code is coloured by its language, and stays word for word', () => {
  const code = 'def charge(x):\n    """doc"""\n    return 42  # why\n';
  const tokens = codeTokens(code, 'python');
  expect(tokens.map(({ text }) => text).join('')).toBe(code);
  expect(tokens.filter(({ kind }) => kind !== 'plain').map(({ kind, text }) => `${kind} ${text}`)).toEqual([
    'keyword def',
    'call charge',
    'string """doc"""',
    'keyword return',
    'number 42',
    'comment # why',
  ]);
  expect(codeTokens('whatever it is', 'brainfuck')).toEqual([{ kind: 'plain', text: 'whatever it is' }]);
  expect(languageOf('/a/b.c/d.ts')).toBe('ts');
});

test('headings of a text leave no level out, whatever level it begins with', () => {
  const levels = (text: string): string => [...html(text).matchAll(/<(h\d)>/g)].map(([, name]) => name).join(' ');
  expect(levels('## a\n#### b\n## c\n# d\n## e')).toBe('h3 h4 h3 h3 h4');
});

test('columns of a table stand where the text says, and the lines of a diff have their colours', () => {
  const table = html('| a | b | c |\n|---|---:|:-:|\n| 1 | 2 | 3 |');
  expect(table.match(/<td[^>]*>/g)).toEqual(['<td>', '<td class="right">', '<td class="center">']);
  expect(codeTokens('@@ -1 +1 @@\n-a\n+b\n c', 'diff').map(({ kind }) => kind)).toEqual([
    'comment',
    'del',
    'add',
    'plain',
  ]);
});
