// The pipe that carries a command's output has a name for a moment: what another command may put in
// its place.
import { chmodSync, closeSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { createBashTool } from '../../tools/builtin/bash.ts';
import { openPipes } from '../../system/process/pipes.ts';
import { findPrograms, type Programs } from '../../system/process/programs.ts';
import { spawnCommand } from '../../system/process/spawner.ts';
import { probeSandbox, type Sandbox } from '../../tools/sandbox.ts';
import { tempFolder, toolContext } from '../tools/support.ts';

const programs = findPrograms(process.env);
const sandbox = await probeSandbox({ programs });

/** A mkfifo that does more once it has made its pipe, which is `$3`. */
function mkfifoThen(folder: string, more: string): Programs {
  const path = join(folder, 'mkfifo');
  writeFileSync(path, `#!/bin/sh\n${programs.at('mkfifo')} "$@" || exit\n${more}\n`);
  chmodSync(path, 0o755);
  return { ...programs, at: (name) => (name === 'mkfifo' ? path : programs.at(name)) };
}

const run = async (held: Sandbox, dataDir: string, command: string): Promise<string> =>
  (await createBashTool({ sandbox: held, dataDir }).call({ command }, toolContext(tempFolder()))).content;

test.each([
  ['a link to a file', 'ln -sf VICTIM "$3"'],
  ['a file of that name', 'ln -f VICTIM "$3"'],
  ['another pipe, open to all', 'rm "$3"; mkfifo -m 666 "$3"'],
])('a pipe that was swapped for %s is not written to', async (_, swap) => {
  const folder = tempFolder();
  const victim = join(folder, 'victim');
  writeFileSync(victim, 'mine');
  const data = join(folder, 'data');
  const swapping = { ...sandbox, programs: mkfifoThen(folder, swap.replaceAll('VICTIM', victim)) };
  await expect(run(swapping, data, 'echo overwritten')).rejects.toThrow();
  expect(readFileSync(victim, 'utf8')).toBe('mine');
});

test('what takes the place of a pipe before its writer opens it is not written to', async () => {
  const folder = tempFolder();
  const { pipes, unlink } = await openPipes({ folder, programs }, ['out']);
  const [{ own, path, inode }] = pipes;
  unlink();
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, 'mine');
  const env = programs.environment();
  const started = spawnCommand({ argv: ['sh', '-c', 'echo overwritten'], cwd: '/', env, output: { path, inode } }, env);
  await expect(started).rejects.toThrow('was replaced');
  expect(readFileSync(path, 'utf8')).toBe('mine');
  closeSync(own);
});

test('a pipe has its name in the data folder, and none once it is taken out', async () => {
  const folder = tempFolder();
  const [data, seen] = [join(folder, 'data/pipes'), join(folder, 'seen')];
  const place = { folder: data, programs: mkfifoThen(folder, `echo "$3" > ${seen}`) };
  const { pipes, unlink } = await openPipes(place, ['out']);
  closeSync(pipes[0].own);
  unlink();
  expect(readFileSync(seen, 'utf8')).toContain(`${data}/pipe-`);
  expect(readdirSync(data)).toEqual([]);
});

test.runIf(sandbox.kind === 'bwrap')('a command cannot see where the pipes of others are made', async () => {
  const data = join(tempFolder(), 'data');
  mkdirSync(join(data, 'pipes/of-another'), { recursive: true });
  expect(await run(sandbox, data, `ls ${data}/pipes 2>&1; touch ${data}/x 2>&1`)).not.toContain('of-another');
  expect(existsSync(join(data, 'x'))).toBe(false);
});
