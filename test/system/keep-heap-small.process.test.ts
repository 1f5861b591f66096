import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const file = join(import.meta.dirname, '../../system/keep-heap-small.ts');

/**
 * Keeps 40 MB of objects, and lets twenty times as many live for a while and go. Prints the most that
 * the heap ever had in use, in megabytes.
 */
const PROGRAM = `
const { keepHeapSmall, WORKER_HEAP } = require('jiti')(process.cwd())(${JSON.stringify(file)});
if (process.argv[1] === 'small') keepHeapSmall(WORKER_HEAP);
const make = () => Array.from({ length: 100 }, (_, at) => ({ at, text: 'x' + at }));
const kept = Array.from({ length: 5_000 }, make);
const passing = Array.from({ length: 2_000 }, make);
let most = 0;
for (let round = 0; round < 100_000; round += 1) {
  passing[round % passing.length] = make();
  if (round % 500 === 0) most = Math.max(most, process.memoryUsage().heapUsed);
}
console.log(kept.length > 0 ? most / 1e6 : 0);
`;

async function mostOf(kind: 'small' | 'as it is'): Promise<number> {
  const argv = ['-e', PROGRAM, kind];
  const { stdout } = await promisify(execFile)(process.execPath, argv, { cwd: join(import.meta.dirname, '../..') });
  return Number(stdout);
}

test('a process that keeps its heap small collects what passes long before others do', async () => {
  const [small, other] = [await mostOf('small'), await mostOf('as it is')];
  expect(small).toBeLessThan(0.75 * other);
});
