// A turn costs the worker no more time of the processor, the longer its session is (L4).
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const bench = join(import.meta.dirname, '../../dist/bench/main.js');

/** Enough for a cost of 1 % a turn of the session to show. */
const TURNS = 600;
const MOST = 1.25;
/** A machine that is busy makes some tenths dearer, and no other the same. */
const TRIES = 3;
/** Three runs on a machine that does much else. */
const TIMEOUT_MS = 3_600_000;

type Row = { readonly cpuMs: number };

test.each(['read', 'write', 'bash'])(
  'the last tenth of 600 turns of %s costs the CPU of the second (L4)',
  async (name) => {
    const found: number[] = [];
    while (found.length < TRIES && !found.some((ratio) => ratio <= MOST)) found.push(await measureRatio(name));
    expect(Math.min(...found)).toBeLessThanOrEqual(MOST);
  },
  TIMEOUT_MS,
);

/** Returns the worker's CPU of a turn in the last tenth, as a multiple of that in the second. */
async function measureRatio(name: string): Promise<number> {
  const argv = [bench, 'slope', name, '--turns', String(TURNS), '--unwatched', '--json'];
  const { stdout } = await promisify(execFile)(process.execPath, argv);
  const { slope } = JSON.parse(stdout) as { readonly slope: readonly Row[] };
  const [second, last] = [slope[1]?.cpuMs ?? Number.NaN, slope.at(-1)?.cpuMs ?? Number.NaN];
  console.info(`${name}: ${second.toFixed(1)} ms of CPU in the second tenth, ${last.toFixed(1)} in the last`);
  return last / second;
}
