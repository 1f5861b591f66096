// A program that runs itself again in namespaces of its own: whatever happens, nothing of it is left.
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { isInstalled } from '../../support/programs.mjs';

const INSIDE = 'FIRE_INSIDE';

/** Returns what `runInNamespaces` was given; null outside. */
export function placeInside(): unknown {
  const inside = process.env[INSIDE];
  return inside === undefined ? null : JSON.parse(inside);
}

/** Returns what is missing as a sentence; null where nothing is. */
export function findMissing(programs: readonly string[]): string | null {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'it makes namespaces, which needs root on Linux';
  const lacking = programs.filter((name) => !isInstalled(name));
  return lacking.length === 0 ? null : `install ${lacking.join(', ')}, which it needs`;
}

/** Runs `program`, the path of a file, with the arguments of this process. Resolves to its status. */
export async function runInNamespaces(program: string, place: object): Promise<number> {
  const spaces = ['--net', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc', '--propagation', 'private'];
  const jiti = join(dirname(createRequire(import.meta.url).resolve('jiti/package.json')), 'lib', 'jiti-cli.mjs');
  const again = [process.execPath, jiti, program, ...process.argv.slice(2)];
  // The shell is the first process: it takes in orphans, without which a killed host never ends.
  const child = spawn('unshare', [...spaces, 'sh', '-c', '"$@" & wait $!', 'sh', ...again], {
    stdio: 'inherit',
    env: { PATH: process.env.PATH, HOME: process.env.HOME, TMPDIR: tmpdir(), [INSIDE]: JSON.stringify(place) },
  });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => child.kill('SIGKILL'));
  return new Promise((resolve) => child.once('exit', (code) => resolve(code ?? 1)));
}
