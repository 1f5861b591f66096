// A few sessions on three hosts that are cut off, frozen, killed and wiped (T18 T19): a small fire of
// `npm run hosts-under-fire -- --seed 7 --minutes 20`. It makes namespaces, which needs root on Linux.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';

const { FIRE_SEED: seed = '51' } = process.env;

const main = fileURLToPath(new URL('hosts-under-fire/main.ts', import.meta.url));
const jiti = join(dirname(createRequire(import.meta.url).resolve('jiti/package.json')), 'lib', 'jiti-cli.mjs');

/** What it exits with where something that it needs is missing. */
const MISSING = 2;

test(
  'sessions on hosts that come and go all end, lose no message, repeat no effect, and keep their files (T18 T19)',
  { timeout: 3_600_000 },
  async (context) => {
    const args = [jiti, main, '--seed', seed, '--minutes', '2', '--sessions', '4'];
    const { PATH, HOME, TMPDIR, XDG_CACHE_HOME } = process.env;
    const child = spawn(process.execPath, args, { env: { PATH, HOME, TMPDIR, XDG_CACHE_HOME }, stdio: 'pipe' });
    onTestFinished(() => void child.kill('SIGTERM'));
    let out = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes: Buffer) => (out += bytes.toString()));
    const [status] = (await once(child, 'close')) as [number | null];
    context.skip(status === MISSING, out.trim());
    expect(status, out).toBe(0);
    expect(out).toContain(`seed ${seed}: all hold`);
  },
);
