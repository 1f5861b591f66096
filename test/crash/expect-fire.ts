// Runs a program that makes faults at random and judges what came of it, in a process of its own.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, type TestContext } from 'vitest';

const { FIRE_SEED: seed = '51' } = process.env;

const jiti = join(dirname(createRequire(import.meta.url).resolve('jiti/package.json')), 'lib', 'jiti-cli.mjs');

/** What it exits with where something that it needs is missing. */
const MISSING = 2;

/** `folder`: that of the program, beside this file. The test is skipped where the machine lacks something. */
export async function expectFire(context: TestContext, folder: string, args: readonly string[]): Promise<void> {
  const main = fileURLToPath(new URL(`${folder}/main.ts`, import.meta.url));
  const { PATH, HOME, TMPDIR, XDG_CACHE_HOME } = process.env;
  const child = spawn(process.execPath, [jiti, main, '--seed', seed, ...args], {
    env: { PATH, HOME, TMPDIR, XDG_CACHE_HOME },
    stdio: 'pipe',
  });
  onTestFinished(() => void child.kill('SIGTERM'));
  let out = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes: Buffer) => (out += bytes.toString()));
  const [status] = (await once(child, 'close')) as [number | null];
  context.skip(status === MISSING, out.trim());
  expect(status, out).toBe(0);
  expect(out).toContain(`seed ${seed}: all hold`);
}
