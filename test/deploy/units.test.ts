// The units of systemd, as it reads them itself.
import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { drainTimes } from '../../worker/create-worker.ts';
import { tempDir } from '../support/temp-dir.ts';
import { knownVariables } from './known-variables.ts';

const folder = resolve(import.meta.dirname, '../../deploy/systemd');
const units = readdirSync(folder);
const read = (name: string): string => readFileSync(join(folder, name), 'utf8');
const ANALYZE = '/usr/bin/systemd-analyze';

test.skipIf(!existsSync(ANALYZE))('systemd finds nothing wrong with them', async () => {
  const place = tempDir();
  const paths = units.map((name) => join(place, name));
  // The program lies elsewhere on this machine.
  for (const name of units)
    writeFileSync(join(place, name), read(name).replaceAll('/usr/local/bin/perdure', process.execPath));
  const { stdout, stderr } = await promisify(execFile)(ANALYZE, ['verify', '--man=no', ...paths]);
  expect(stdout + stderr).toBe('');
});

test('they name commands that there are, and variables that are documented', () => {
  for (const text of units.map(read)) {
    expect(text).toMatch(/perdure (worker|serve) /);
    const names = [...text.matchAll(/^Environment=(.*)$/gm)].flatMap(([, pairs = '']) =>
      pairs.split(' ').map((pair) => pair.split('=')[0] ?? ''),
    );
    expect(names.filter((name) => !knownVariables().has(name))).toEqual([]);
  }
});

test('the worker may make the namespaces of bubblewrap, and has longer to stop than its drain', () => {
  const worker = read('perdure-worker.service');
  const [forbidden] = /^(RestrictNamespaces|ProtectKernelTunables|ProtectProc)=/m.exec(worker) ?? [];
  expect(forbidden).toBeUndefined();
  const { shutdownGraceTime: leavingMs, shutdownForceTime } = drainTimes();
  const longestMs = leavingMs + shutdownForceTime;
  expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(worker)?.[1])).toBeGreaterThan(longestMs / 1_000);
});
