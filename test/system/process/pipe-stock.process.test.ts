// Pipes that are made ahead for the commands of a worker.
import { execFileSync } from 'node:child_process';
import { chmodSync, closeSync, mkdirSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openPipes, type PipePlace } from '../../../system/process/pipes.ts';
import { findPrograms } from '../../../system/process/programs.ts';
import { tempFolder } from '../../tools/support.ts';

const found = findPrograms(process.env);

/** A folder for pipes, and what tells how often a program was started to make some. */
function countedPlace() {
  const folder = tempFolder();
  const [mkfifo, log] = [join(folder, 'mkfifo'), join(folder, 'log')];
  writeFileSync(log, '');
  writeFileSync(mkfifo, `#!/bin/sh\necho made >> '${log}'\nexec ${found.at('mkfifo')} "$@"\n`);
  chmodSync(mkfifo, 0o755);
  const programs = { ...found, at: (name: string) => (name === 'mkfifo' ? mkfifo : found.at(name)) };
  const place: PipePlace = { folder: join(folder, 'pipes'), programs, ahead: true };
  return { place, made: () => readFileSync(log, 'utf8').split('\n').length - 1 };
}

async function take(place: PipePlace): Promise<string> {
  const { pipes, unlink } = await openPipes(place, ['out']);
  closeSync(pipes[0].own);
  unlink();
  return pipes[0].path;
}

test('the pipes of many commands are made by one program, each is used once, and no name stays', async () => {
  const { place, made } = countedPlace();
  const taken: string[] = [];
  for (let count = 0; count < 100; count += 1) taken.push(await take(place));
  expect(new Set(taken).size).toBe(100);
  expect(made()).toBe(3);
  const left = readdirSync(place.folder).flatMap((name) => readdirSync(join(place.folder, name)));
  expect(left).toHaveLength(44);
});

test('where the folder was emptied pipes are made anew', async () => {
  const { place } = countedPlace();
  const first = await take(place);
  rmSync(place.folder, { recursive: true });
  const second = await take(place);
  expect(second).not.toBe(first);
  expect(readdirSync(place.folder)).toHaveLength(1);
});

test('what a killed process left is removed after a day, and nothing else', async () => {
  const { place } = countedPlace();
  for (const name of ['pipe-old', 'pipe-new', 'else']) mkdirSync(join(place.folder, name), { recursive: true });
  const past = new Date(Date.now() - 25 * 3_600_000);
  for (const name of ['pipe-old', 'else']) utimesSync(join(place.folder, name), past, past);
  await take(place);
  const left = readdirSync(place.folder);
  expect(left).toEqual(expect.arrayContaining(['else', 'pipe-new']));
  expect(left).not.toContain('pipe-old');
});

test('a process that exits leaves no pipes', () => {
  const folder = tempFolder();
  const url = (path: string): string =>
    JSON.stringify(new URL(`../../../dist/system/process/${path}`, import.meta.url));
  const program = `
    const { openPipes } = await import(${url('pipes.js')});
    const { findPrograms } = await import(${url('programs.js')});
    await openPipes({ folder: ${JSON.stringify(folder)}, programs: findPrograms(process.env), ahead: true }, ['out', 'in']);
    process.exit(0);`;
  execFileSync(process.execPath, ['--input-type=module', '-e', program]);
  const left = readdirSync(folder).flatMap((name) => readdirSync(join(folder, name)));
  expect(left).toEqual([]);
});
