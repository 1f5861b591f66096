import { createInterface } from 'node:readline';
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { findPrograms } from '../../../system/process/programs.ts';
import { spawnPiped } from '../../../system/process/spawn-piped.ts';
import { tempFolder } from '../support.ts';

test('who reads what a program prints is told of its end, also when it ends at once without a word', async () => {
  const pipes = { folder: tempFolder(), programs: findPrograms(process.env) };
  const env = { PATH: process.env['PATH'] ?? '' };
  const readOne = async (): Promise<readonly string[]> => {
    const { stdout, stderr } = await spawnPiped(['true'], { cwd: '/', env, pipes });
    stderr.resume();
    const lines: string[] = [];
    for await (const line of createInterface({ input: stdout })) lines.push(line);
    return lines;
  };
  const over = new AbortController();
  const reading = Promise.all(Array.from({ length: 60 }, readOne)).finally(() => over.abort());
  // A busy worker comes to what has happened late, and to much of it at once.
  while (!over.signal.aborted) {
    const until = performance.now() + 20;
    while (performance.now() < until);
    await setImmediate();
  }
  expect((await reading).flat()).toEqual([]);
});
