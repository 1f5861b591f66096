// A text or a name that looks like what a model asks for and is not: nothing is changed, and the
// refusal says where it is and what differs.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { describeNearestLine, showNameBytes } from '../../../../tools/builtin/files/lookalikes.ts';
import { fileTools } from './support.ts';
import { tempFolder } from '../../support.ts';

test.each([
  ['a no-break space', 'list in\u00a0current', 'list in current', 8, 'U+00A0 (no-break space)', 'U+0020 (space)'],
  ['a decomposed accent', 'cafe\u0301 bar', 'caf\u00e9 bar', 4, 'U+0065 U+0301 (e\u0301)', 'U+00E9 (\u00e9)'],
  ['a curly quote', 'say \u201cwhat\u201d now', 'say "what" now', 5, 'U+201C (\u201c)', 'U+0022 (")'],
  ['a tab for blanks', '\treturn 1', '    return 1', 1, 'U+0009 (tab)', 'U+0020 (space)'],
  ['blanks at the end of a line', 'one  ', 'one\nlast', 4, 'U+0020 (space)', 'the end of the line'],
  ['a dash', 'a \u2014 b', 'a - b', 3, 'U+2014 (\u2014)', 'U+002D (-)'],
  ['a character of no width', 'foo\u200bbar', 'foobar', 4, 'U+200B (zero-width space)', 'U+0062 (b)'],
  ['other words from the middle on', 'const limit = 20;', 'const limit = 10;', 15, 'U+0032 (2)', 'U+0031 (1)'],
])('an edit that misses by %s is told the line and the first character', async (_, line, wanted, at, has, old) => {
  const cwd = tempFolder();
  writeFileSync(join(cwd, 'f'), `first\n${line}\nlast\n`);
  const said = await fileTools(cwd).edit('f', wanted, 'NEW');
  expect(said).toBe(
    'failed: old_string was not found in "f". It must match exactly: read the file and copy the text. ' +
      `Nearest is line 2: at its character ${at} the file has ${has}, old_string has ${old}.`,
  );
  expect(readFileSync(join(cwd, 'f'), 'utf8')).toBe(`first\n${line}\nlast\n`);
});

test('of several lines the first that differs is named', () => {
  expect(describeNearestLine('a\nfunction f() {\n  return 1;\n}\n', 'function f() {\n  return 2;\n}')).toBe(
    'Nearest is line 3: at its character 10 the file has U+0031 (1), old_string has U+0032 (2).',
  );
});

test('what is like nothing in the file is told no line', () => {
  expect(describeNearestLine('one\ntwo\n', 'quite another')).toBeUndefined();
  expect(describeNearestLine('', 'x')).toBeUndefined();
});

test('a name that looks like another is refused, not made beside it', async () => {
  const cwd = tempFolder();
  const decomposed = 're\u0301sume\u0301.txt';
  writeFileSync(join(cwd, decomposed), 'x\n');
  const { read, write, edit } = fileTools(cwd);
  for (const said of [
    await read('r\u00e9sum\u00e9.txt'),
    await write('r\u00e9sum\u00e9.txt', 'y'),
    await edit('r\u00e9sum\u00e9.txt', 'x', 'y'),
  ]) {
    expect(said).toContain('looks the same and is written differently: "re\\u{301}sume\\u{301}.txt"');
  }
  expect(readdirSync(cwd)).toEqual([decomposed]);
  expect(await read(decomposed)).toContain('x');
});

test('a name that is no UTF-8 is shown with its bytes, and no second file is made beside it', async () => {
  const cwd = tempFolder();
  const name = Buffer.concat([Buffer.from(`${cwd}/caf`), Buffer.from([0xe9]), Buffer.from('.txt')]);
  writeFileSync(name, 'x\n');
  expect(showNameBytes(Buffer.from([0x63, 0xe9, 0xc3, 0xa9]))).toBe('c\\xe9é');
  const { read, write } = fileTools(cwd);
  for (const asked of ['caf\ufffd.txt', 'caf\\xe9.txt']) {
    expect(await read(asked)).toContain('is a name that is no UTF-8');
    expect(await write(asked, 'y')).toContain('is a name that is no UTF-8');
  }
  expect(readdirSync(cwd)).toHaveLength(1);
});
