// deploy/try: the compose file, started without a container engine and tried.
import { execFile, spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { isInstalled } from '../support/programs.mjs';

const root = resolve(import.meta.dirname, '../..');
/** A container may forbid networks of its own, or its kernel may lack a kind of link. */
const canLink = (kind: string): boolean =>
  spawnSync('unshare', ['--net', '--mount', 'ip', 'link', 'add', 'probe', 'type', kind]).status === 0;
const canTry =
  process.platform === 'linux' &&
  process.getuid?.() === 0 &&
  ['ip', 'unshare', 'redis-server'].every(isInstalled) &&
  ['bridge', 'veth'].every(canLink);

test.skipIf(!canTry)(
  'all of the compose file comes up; an approval over HTTP, killed workers and new processes end well',
  async () => {
    const { stdout } = await promisify(execFile)(resolve(root, 'deploy/try'), [], { cwd: root });
    expect(stdout).toContain('all of deploy/compose.yaml is up');
    expect(stdout).toMatch(/deploy\/try: passed, [\d.]+ s\n$/);
  },
);
