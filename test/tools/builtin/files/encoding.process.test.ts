// Files as programs on other systems leave them: read, edit and write tell their text the same way
// and keep how it is written. Bytes of other encodings are made by iconv.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fileTools } from './support.ts';
import { tempFolder } from '../../support.ts';

/** The bytes of a text in an encoding, as the system's iconv writes them. */
const inEncoding = (text: string, encoding: string): Buffer =>
  execFileSync('iconv', ['-f', 'UTF-8', '-t', encoding], { input: text });

const marked: readonly (readonly [string, (text: string) => Buffer])[] = [
  ['UTF-16 (little-endian)', (text) => Buffer.concat([Buffer.from([0xff, 0xfe]), inEncoding(text, 'UTF-16LE')])],
  ['UTF-16 (big-endian)', (text) => Buffer.concat([Buffer.from([0xfe, 0xff]), inEncoding(text, 'UTF-16BE')])],
  ['UTF-8 with a byte order mark', (text) => Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(text)])],
];

test.each(marked)('a file that is marked as %s is read, edited and written as such', async (name, encode) => {
  const cwd = tempFolder();
  const { read, edit, write } = fileTools(cwd);
  writeFileSync(join(cwd, 'a.txt'), encode('naïve 猫😀\r\nsecond\r\n'));
  expect(await read('a.txt')).toContain('     1\tnaïve 猫😀\r\n     2\tsecond');
  expect(await edit('a.txt', 'naïve', 'clever é')).toBe('edited a.txt (1 replacement, line 1)');
  expect(readFileSync(join(cwd, 'a.txt'))).toEqual(encode('clever é 猫😀\r\nsecond\r\n'));
  expect(await edit('a.txt', '\ufeffclever', '\ufeffa')).toBe('edited a.txt (1 replacement, line 1)');
  expect(await write('a.txt', 'new 猫\n')).toContain(`${name} as before`);
  expect(readFileSync(join(cwd, 'a.txt'))).toEqual(encode('new 猫\n'));
  expect(await write('a.txt', '\ufeffnew\n')).toContain('as before');
  expect(readFileSync(join(cwd, 'a.txt'))).toEqual(encode('new\n'));
});

test('a file of UTF-16 that is longer than what is read at once is shown whole', async () => {
  const cwd = tempFolder();
  const lines = Array.from({ length: 40_000 }, (_, n) => `line ${n} 😀`);
  writeFileSync(
    join(cwd, 'long.txt'),
    Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(lines.join('\n'), 'utf16le')]),
  );
  const shown = await fileTools(cwd).read('long.txt', { offset: 39_990, limit: 20 });
  expect(shown).toContain(' 39990\tline 39989 😀');
  expect(shown).toContain(' 40000\tline 39999 😀');
});

test.each(['WINDOWS-1252', 'SHIFT_JIS'])(
  'of a file in %s, edits of ASCII keep every other byte, and others are refused',
  async (encoding) => {
    const cwd = tempFolder();
    const { edit, write } = fileTools(cwd);
    const text = encoding === 'SHIFT_JIS' ? 'port = 80 ; 猫\n' : 'port = 80 ; café\n';
    const before = inEncoding(text, encoding);
    writeFileSync(join(cwd, 'a.ini'), before);
    expect(await edit('a.ini', 'port', 'pört')).toMatch(/^failed: "a.ini" is no UTF-8.*iconv/);
    expect(await write('a.ini', 'café\n')).toMatch(/^failed: "a.ini" is no UTF-8.*iconv/);
    expect(readFileSync(join(cwd, 'a.ini'))).toEqual(before);
    expect(await edit('a.ini', '80', '8080')).toBe('edited a.ini (1 replacement, line 1)');
    expect(readFileSync(join(cwd, 'a.ini'))).toEqual(inEncoding(text.replace('80', '8080'), encoding));
    expect(await write('a.ini', 'port = 81\n')).toBe('updated a.ini (1 line, 10 bytes)');
  },
);

test('a binary file is not edited, and UTF-16 without its mark counts as one', async () => {
  const cwd = tempFolder();
  const { edit } = fileTools(cwd);
  for (const bytes of [Buffer.from([1, 0, 97]), inEncoding('a q b', 'UTF-16LE')]) {
    writeFileSync(join(cwd, 'b'), bytes);
    expect(await edit('b', 'a', 'xyz')).toMatch(/^failed: "b" is not edited.*NUL/);
    expect(readFileSync(join(cwd, 'b'))).toEqual(bytes);
  }
  writeFileSync(join(cwd, 'text'), 'a\n');
  expect(await edit('text', 'a', '\0')).toMatch(/^failed: "text" is not edited.*NUL/);
  writeFileSync(join(cwd, 'odd'), Buffer.from([0xff, 0xfe, 97, 0, 98]));
  expect(await edit('odd', 'a', 'x')).toMatch(/^failed: "odd" begins as UTF-16 \(little-endian\) and is none/);
});

test('a file of UTF-32 is binary, whichever byte comes first', async () => {
  const cwd = tempFolder();
  const { read, edit, write } = fileTools(cwd);
  for (const mark of [Buffer.from([0xff, 0xfe, 0, 0]), Buffer.from([0, 0, 0xfe, 0xff])]) {
    const bytes = Buffer.concat([mark, inEncoding('a q b\n', mark[0] === 0 ? 'UTF-32BE' : 'UTF-32LE')]);
    writeFileSync(join(cwd, 'b'), bytes);
    expect(await read('b')).toMatch(/^failed: "b" is a binary file/);
    expect(await edit('b', 'q', 'qq')).toMatch(/^failed: "b" is not edited.*NUL/);
    expect(readFileSync(join(cwd, 'b'))).toEqual(bytes);
    expect(await write('b', 'a\n')).toBe('updated b (1 line, 2 bytes)');
  }
  writeFileSync(join(cwd, 'c'), Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from('a\0b', 'utf16le')]));
  expect(await edit('c', 'a', 'x')).toMatch(/^failed: "c" is not edited.*NUL/);
});

test.each([
  ['SHIFT_JIS', '表 = C:\\dir\n', '\\', '/'],
  ['GBK', '乗 = a|b\n', '\\', '/'],
  ['BIG5', '功 = C:\\dir\n', '\\dir', '/dir'],
  ['GB18030', 'ÿ 0 = 1\n', '0', '9'],
])('of a file in %s, no half of a character is taken for ASCII', async (encoding, text, before, after) => {
  const cwd = tempFolder();
  const bytes = inEncoding(text, encoding);
  writeFileSync(join(cwd, 'a.ini'), bytes);
  const { edit } = fileTools(cwd);
  const said = await edit('a.ini', before, after);
  const wanted = inEncoding(text.replaceAll(before, after), encoding);
  const isWhole = readFileSync(join(cwd, 'a.ini')).equals(said.startsWith('failed') ? bytes : wanted);
  expect([said, isWhole]).toEqual([said, true]);
  expect(await edit('a.ini', ' = ', ': ')).toBe('edited a.ini (1 replacement, line 1)');
});

test('half a character that reads as ASCII is refused with what to do', async () => {
  const cwd = tempFolder();
  const { edit } = fileTools(cwd);
  writeFileSync(join(cwd, 'a.txt'), inEncoding('表\n', 'SHIFT_JIS'));
  expect(await edit('a.txt', '\\', '/')).toMatch(
    /^failed: In "a.txt" old_string follows a byte that may be the first half/,
  );
  expect(readFileSync(join(cwd, 'a.txt'))).toEqual(inEncoding('表\n', 'SHIFT_JIS'));
  // A letter with an accent of its own, and a word of its own behind it.
  writeFileSync(join(cwd, 'b.txt'), inEncoding('café = x\n', 'WINDOWS-1252'));
  expect(await edit('b.txt', '= x', '= y')).toBe('edited b.txt (1 replacement, line 1)');
});

test('a write that turns CRLF into LF says so', async () => {
  const cwd = tempFolder();
  const { edit, write } = fileTools(cwd);
  for (const encode of [
    (text: string) => Buffer.from(text),
    (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le'),
  ]) {
    writeFileSync(join(cwd, 'a.txt'), encode('one\r\ntwo\r\n'));
    expect(await edit('a.txt', 'one', 'zero\none')).toBe('edited a.txt (1 replacement, line 1)');
    expect(readFileSync(join(cwd, 'a.txt'))).toEqual(encode('zero\r\none\r\ntwo\r\n'));
    expect(await write('a.txt', 'one\r\n')).not.toContain('CRLF');
    expect(await write('a.txt', 'one\n')).toContain('; its lines ended in CRLF and end in LF now');
    expect(await write('a.txt', 'two\n')).not.toContain('CRLF');
  }
});
