// Files that an option names and that are none: they are told, and not waited for.
import { execFileSync } from 'node:child_process';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Cli } from '../../cli/cli.ts';
import { readPrompt } from '../../cli/prompt-argument.ts';
import { readSchema } from '../../cli/run-options.ts';
import { loadScript } from '../../scripted-model/index.ts';
import { tempDir } from '../support/temp-dir.ts';

const cli: Pick<Cli, 'cwd' | 'readInput' | 'readBeside'> = {
  cwd: tempDir,
  readInput: () => Promise.resolve(''),
  readBeside: () => Promise.resolve(null),
};

test.each<[string, (file: string) => unknown]>([
  ['--prompt-file', (file) => readPrompt(cli as Cli, undefined, file)],
  ['--output-schema (L53)', (file) => readSchema(file)],
  ['--script', (file) => loadScript(file)],
])('a file in another encoding than UTF-8 is refused with a sentence: %s', async (_option, read) => {
  const file = join(tempDir(), 'file');
  writeFileSync(file, Buffer.from('"caf\u00e9"', 'latin1'));
  const reading = Promise.resolve().then(() => read(file));
  await expect(reading).rejects.toThrow(/^the [^\n]* cannot be read \(it is not UTF-8\)[^\n]*$/);
});

test('an output schema of more than a megabyte is told the bound (L53)', () => {
  const file = join(tempDir(), 'file');
  writeFileSync(file, ' '.repeat(1_048_577));
  expect(() => readSchema(file)).toThrow(/ has 1048577 bytes: give at most 1048576, and 65536 characters of JSON$/);
});

describe.each<[string, (file: string) => void]>([
  ['a pipe', (file) => void execFileSync('mkfifo', [file])],
  ['a link to a device', (file) => symlinkSync('/dev/zero', file)],
])('%s is refused with a sentence', (_what, make) => {
  test.each<[string, (file: string) => unknown, string, string]>([
    ['--prompt-file', (file) => readPrompt(cli as Cli, undefined, file), 'the prompt file', 'UsageError'],
    ['--output-schema (L53)', (file) => readSchema(file), 'the output schema', 'UsageError'],
    ['--script', (file) => loadScript(file), 'the script', 'Error'],
  ])('%s', async (_option, read, what, name) => {
    const file = join(tempDir(), 'file');
    make(file);
    const reading = Promise.resolve().then(() => read(file));
    await expect(reading).rejects.toMatchObject({ name });
    await expect(reading).rejects.toThrow(
      new RegExp(`^${what} ${file} cannot be read[^\n]*it is not a regular file[^\n]*$`),
    );
  });
});
