// A few sandboxes that are killed and frozen while sessions work in them (G57 G60 G62 B1): a small
// fire of `npm run sandbox-under-fire -- --seed 7 --kills 100 --freezes 100`. It makes namespaces,
// which needs root on Linux.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';

const { FIRE_SEED: seed = '51' } = process.env;

const main = fileURLToPath(new URL('sandbox-under-fire/main.ts', import.meta.url));
const jiti = join(dirname(createRequire(import.meta.url).resolve('jiti/package.json')), 'lib', 'jiti-cli.mjs');

/** What it exits with where something that it needs is missing. */
const MISSING = 2;

test(
  'calls in sandboxes that are killed, frozen and cut off happen once, have one result each, and no session is stuck (B1)',
  { timeout: 3_600_000 },
  async (context) => {
    const counts = ['--kills', '3', '--freezes', '3', '--sandboxes', '3', '--sessions', '3'];
    const { PATH, HOME, TMPDIR, XDG_CACHE_HOME } = process.env;
    const child = spawn(process.execPath, [jiti, main, '--seed', seed, ...counts], {
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
  },
);
