// What a person is told where commands of agents run without bubblewrap.
import { execFile, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { reply } from '../../scripted-model/index.ts';
import { cliPlace, modelFor } from '../support/cli.ts';
import { MAY_NOT_MOUNT } from '../support/small-disk.ts';

const program = join(import.meta.dirname, '../../bin/perdure.mjs');
/** Runs a program where bubblewrap does not work. */
const without = [
  '-m',
  'sh',
  '-c',
  'for p in /usr/bin/bwrap; do test ! -e $p || mount --bind /bin/false $p || exit 9; done; exec "$@"',
  'sh',
];

test('a run whose worker has no bubblewrap says once that commands are not confined', async ({ skip }) => {
  skip(!existsSync('/usr/bin/bwrap'), 'needs bubblewrap');
  skip(spawnSync('unshare', [...without, 'true']).status !== 0, MAY_NOT_MOUNT);
  const { cwd, env } = cliPlace(await modelFor([reply('Done.'), reply('Done.')]));
  const run = (...args: readonly string[]) =>
    promisify(execFile)('unshare', [...without, process.execPath, program, 'run', ...args, 'Go.'], { cwd, env });
  const said = (text: string): number => text.split("commands aren't confined here").length - 1;
  const { stdout, stderr } = await run('--session', 's-1');
  expect([said(stdout), said(stderr)]).toEqual([0, 1]);
  expect(stderr).toContain("can read Perdure's keys and approve its own calls. Install bubblewrap, or deny bash");
  const confined = await promisify(execFile)(process.execPath, [program, 'run', 'Go.'], { cwd, env });
  expect(said(confined.stderr)).toBe(0);
});
