// What was typed before, in the data folder.
import { appendFileSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { inputHistory } from '../../../cli/chat/input-history.ts';
import { tempDir } from '../../support/temp-dir.ts';

test('what is typed is there the next time, whatever is in it, and nobody else can read it (O20)', () => {
  const data = join(tempDir(), 'data');
  const open = () => inputHistory({ PERDURE_DATA: data }, () => undefined);
  for (const text of ['one', 'two\nlines']) open().add(text);
  appendFileSync(join(data, 'typed.jsonl'), '{"cut');
  expect(open().texts).toEqual(['one', 'two\nlines']);
  expect(statSync(join(data, 'typed.jsonl')).mode & 0o077).toBe(0);
});

test('the file is shortened when it has become long (O20)', () => {
  const data = join(tempDir(), 'data');
  inputHistory({ PERDURE_DATA: data }, () => undefined);
  const file = join(data, 'typed.jsonl');
  writeFileSync(file, Array.from({ length: 1_001 }, (_, at) => `"${at}"\n`).join(''));
  const { texts } = inputHistory({ PERDURE_DATA: data }, () => undefined);
  expect([texts.length, texts[0]]).toEqual([500, '501']);
  expect(readFileSync(file, 'utf8').split('\n')).toHaveLength(501);
});
