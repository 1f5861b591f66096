import { execFileSync } from 'node:child_process';
import { mkdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createReadTool } from '../../../tools/builtin/read.ts';
import { probeSandbox } from '../../../tools/sandbox.ts';
import { callTool } from '../../../activities/calls/call-tool.ts';
import type { ToolContext } from '../../../tools/tool.ts';
import { pdfOf, pngOf } from '../../support/images.ts';
import { inputFor, tempFolder, toolContext } from '../support.ts';

const sandbox = await probeSandbox({ kinds: ['group'] });

/** The tool on a workspace with one file; what it says, or how it failed. */
async function read(
  content: string | Uint8Array,
  range: object = {},
  more: Partial<ToolContext> = {},
): Promise<string> {
  const cwd = tempFolder();
  writeFileSync(join(cwd, 'file'), content);
  return await call({ path: 'file', ...range }, toolContext(cwd, more));
}

async function call(input: object, context: ToolContext): Promise<string> {
  const tool = createReadTool({ sandbox });
  const ran = await callTool(tool, inputFor(tool, input), context);
  return ran.kind === 'output' ? ran.output.content : `${ran.kind}: ${ran.kind === 'failed' ? ran.text : ran.partial}`;
}

test('lines come numbered', async () => {
  expect(await read('one\n\nthree')).toBe('     1\tone\n     2\t\n     3\tthree');
});

test('a range says how to read on, and the last one does not', async () => {
  const text = Array.from({ length: 10 }, (_, n) => `line ${n + 1}\n`).join('');
  expect(await read(text, { offset: 4, limit: 2 })).toBe(
    '     4\tline 4\n     5\tline 5\n(lines 4 to 5; more follow, read on with offset 6)',
  );
  expect(await read(text, { offset: 9, limit: 2 })).toBe('     9\tline 9\n    10\tline 10');
});

test.each([
  ['an empty file', '', {}, '(the file is empty)'],
  ['a range past the end', 'a\nb\n', { offset: 7 }, '(the file has 2 lines: none from 7 on)'],
  ['CRLF', 'a\r\nb\r\n', {}, '     1\ta\r\n     2\tb\r'],
  ['a byte order mark, which is no part of it', '\ufeffa', {}, '     1\ta'],
  ['U+2028, which ends no line', 'a\u2028b', {}, '     1\ta\u2028b'],
])('%s is shown as it is', async (_, content, range, shown) => {
  expect(await read(content, range)).toBe(shown);
});

test('what is no UTF-8 is shown and said', async () => {
  expect(await read(Buffer.from([0x61, 0xff, 0xc3, 0x0a, 0x62]))).toBe(
    '     1\ta\ufffd\ufffd\n     2\tb\n(bytes that are no UTF-8 are shown as \ufffd)',
  );
});

test('a binary file is not shown', async () => {
  expect(await read(Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 1, 2]))).toBe(
    'failed: "file" is a binary file (7 bytes): it is not shown. With bash, file file says what it is, and xxd or strings shows its bytes.',
  );
});

test('an answer stays under what would be stored, however long lines and file are (L6)', async () => {
  for (const content of ['x'.repeat(3_000_000), 'y\n'.repeat(500_000), `${'z'.repeat(5_000)}\n`.repeat(300)]) {
    for (const limit of [undefined, 1, 1_000_000]) {
      expect((await read(content, limit === undefined ? {} : { limit })).length).toBeLessThan(50_000);
    }
  }
});

test('a line too long to show can be read on, piece by piece, without splitting a character', async () => {
  const line = 'aä😀'.repeat(20_000);
  let [column, whole, rounds] = [1, '', 0];
  for (; rounds < 20; rounds++) {
    const said = await read(line, { offset: 1, limit: 1, column });
    const [, text = '', next] =
      /^ {5}1\t([^[]*?)(?: \[… the line goes on: offset 1, limit 1, column (\d+)\](?:\n.*)?)?$/.exec(said) ?? [];
    whole += text;
    if (next === undefined) break;
    column = Number(next);
  }
  expect(whole).toBe(line);
  expect(rounds).toBe(3);
});

test('a huge file is read by range without being loaded', async () => {
  const cwd = tempFolder();
  writeFileSync(join(cwd, 'huge'), 'first\nsecond\nthird\n');
  truncateSync(join(cwd, 'huge'), 64 * 1024 ** 3);
  const before = process.memoryUsage.rss();
  expect(await call({ path: 'huge', limit: 2 }, toolContext(cwd))).toContain('binary file');
  writeFileSync(join(cwd, 'long'), 'first\nsecond\n' + 'x'.repeat(10_000));
  truncateSync(join(cwd, 'long'), 64 * 1024 ** 3);
  expect(await call({ path: 'long', offset: 2, limit: 1 }, toolContext(cwd))).toContain(
    '     2\tsecond\n(lines 2 to 2;',
  );
  expect(await call({ path: 'long', offset: 3, limit: 1 }, toolContext(cwd))).toContain('the line goes on');
  expect(process.memoryUsage.rss() - before).toBeLessThan(64 * 1024 ** 2);
});

test('reading far into a huge file ends when the call is stopped', async () => {
  const cwd = tempFolder();
  writeFileSync(join(cwd, 'long'), 'x'.repeat(10_000));
  truncateSync(join(cwd, 'long'), 64 * 1024 ** 3);
  const abort = new AbortController();
  const reading = call({ path: 'long', offset: 2 }, toolContext(cwd, { signal: abort.signal }));
  setImmediate(() => abort.abort('interrupt'));
  expect(await reading).toBe('stopped: Stopped while reading.');
});

test('a named pipe and a folder do not hang it', async () => {
  const cwd = tempFolder();
  execFileSync('mkfifo', [join(cwd, 'fifo')]);
  mkdirSync(join(cwd, 'folder'));
  expect(await call({ path: 'fifo' }, toolContext(cwd))).toBe('failed: "fifo" is a named pipe, not a file.');
  expect(await call({ path: 'folder' }, toolContext(cwd))).toBe('failed: "folder" is a folder, not a file.');
});

test('a stored result is read by its name, with ranges (L6)', async () => {
  const name = `perdure:result/${'a'.repeat(64)}`;
  const context = toolContext(tempFolder(), {
    readStored: async (asked) => (asked === name ? Buffer.from('one\ntwo\nthree') : null),
  });
  expect(await call({ path: name, offset: 2, limit: 1 }, context)).toBe(
    '     2\ttwo\n(lines 2 to 2; more follow, read on with offset 3)',
  );
  expect(await call({ path: `perdure:result/${'b'.repeat(64)}` }, context)).toContain(
    'failed: There is no stored result',
  );
  expect(await call({ path: 'perdure:result/../../secret' }, context)).toContain('is no stored result');
});

test.each([
  {},
  { path: 3 },
  { path: 'x', offset: 0 },
  { path: 'x', limit: -1 },
  { path: 'x', offset: 1.5 },
  { path: 'x', encoding: 'latin1' },
])('%j is no input', (input) => {
  expect(() => inputFor(createReadTool({ sandbox }), input)).toThrow();
});

test('images and PDF documents are shown, whatever they are called; broken and large ones are errors (L85)', async () => {
  const cwd = tempFolder();
  writeFileSync(join(cwd, 'notes.txt'), pngOf(3, 4));
  writeFileSync(join(cwd, 'paper'), pdfOf(2));
  const tool = createReadTool({ sandbox });
  const shown = async (path: string, more: Partial<ToolContext> = {}) =>
    await callTool(tool, inputFor(tool, { path }), toolContext(cwd, more));
  expect(await shown('notes.txt')).toMatchObject({
    output: { content: 'notes.txt', media: [pngOf(3, 4)], seen: [{}] },
  });
  expect(await shown('paper')).toMatchObject({ output: { media: [pdfOf(2)] } });
  const name = `perdure:result/${'a'.repeat(64)}`;
  expect(await shown(name, { readStored: async () => await Promise.resolve(pngOf(3, 4)) })).toMatchObject({
    output: { media: [pngOf(3, 4)] },
  });
  expect(await read(pngOf(3, 4).subarray(0, 14))).toContain('failed: "file" begins as image/png and is broken');
  writeFileSync(join(cwd, 'huge'), '%PDF-1.7');
  truncateSync(join(cwd, 'huge'), 100_000_000);
  expect(await call({ path: 'huge' }, toolContext(cwd))).toContain('is application/pdf of 100,000,000 bytes');
});

test('a notebook is shown as its cells, a range at a time, and one that is none as its lines (L85)', async () => {
  const cwd = tempFolder();
  const outputs = [
    { output_type: 'stream', text: ['1\n', '50%\r99%\r', '\u001b[K\u001b[31m2'] },
    { output_type: 'display_data', data: { 'image/png': 'AAAA', 'text/plain': 'a plot', 'text/html': '<b>' } },
    { output_type: 'error', ename: 'E', evalue: 'no', traceback: ['E: no'] },
  ];
  const cells = [
    { cell_type: 'markdown', source: ['# A\n', 'text'] },
    { cell_type: 'code', source: 'print(1)', outputs },
  ];
  writeFileSync(join(cwd, 'a.ipynb'), JSON.stringify({ nbformat: 4, cells }));
  writeFileSync(join(cwd, 'b.ipynb'), '{"cells": 7}');
  const text = await call({ path: 'a.ipynb' }, toolContext(cwd));
  const lines = text.split('\n').map((line) => line.slice(7));
  expect(lines.slice(0, 8)).toEqual([
    '--- cell 1 (markdown) ---',
    '# A',
    'text',
    '--- cell 2 (code) ---',
    'print(1)',
    '--- output of cell 2 ---',
    '1',
    '2',
  ]);
  expect(lines).toContain('[image/png, about 4 characters: not shown]');
  expect(lines).toContain('E: no');
  expect(text).not.toContain('<b>');
  expect(await call({ path: 'a.ipynb', offset: 5, limit: 1 }, toolContext(cwd))).toContain('     5\tprint(1)');
  expect(await call({ path: 'b.ipynb' }, toolContext(cwd))).toBe('     1\t{"cells": 7}');
});
