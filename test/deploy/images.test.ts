// The Dockerfile and the compose file, read as their engines would: what they name is there.
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readCompose, readDockerfile } from '../../deploy/trial/read-compose.mjs';
import { drainTimes } from '../../worker/create-worker.ts';
import { knownVariables } from './known-variables.ts';

const root = resolve(import.meta.dirname, '../..');
const dockerfile = readFileSync(join(root, 'Dockerfile'), 'utf8');
const image = readDockerfile(join(root, 'Dockerfile'));
const compose = readCompose(join(root, 'deploy/compose.yaml'), {});

describe('the image', () => {
  test('has tini as its first process, a user of its own, a health check and no compiler', () => {
    expect(image.entrypoint.slice(0, 2)).toEqual(['/usr/bin/tini', '--']);
    expect(image.user).toBe('10001:10001');
    expect(dockerfile).toMatch(/^HEALTHCHECK .*health\.mjs/m);
    const [, ...installed] = /apt-get install -y -qq --no-install-recommends ([\w -]+)/.exec(dockerfile) ?? [];
    expect(installed.join('').trim().split(' ')).toEqual([
      'bubblewrap',
      'ca-certificates',
      'git',
      'openssl',
      'ripgrep',
      'tini',
    ]);
  });

  test('copies files that are there, and its variables are documented', () => {
    const files = image.copied.flatMap(({ from }) => from);
    expect(files.filter((path) => !existsSync(join(root, path)))).toEqual([]);
    expect(Object.keys(image.env).filter((name) => !knownVariables().has(name))).toEqual([]);
  });
});

describe('the compose file', () => {
  test('tells its services only variables that are documented, and one host each', () => {
    const ours = compose.services.filter(({ isBuilt }) => isBuilt);
    const names = ours.flatMap(({ env }) => Object.keys(env));
    expect(names.filter((name) => !knownVariables().has(name))).toEqual([]);
    const hosts = ours.flatMap(({ env }) => env['PERDURE_HOST'] ?? []);
    expect(hosts).toEqual(['worker-1', 'worker-2']);
  });

  test('waits only for health that is checked, and mounts files that are there', () => {
    for (const { name, needs, mounts } of compose.services) {
      for (const [other, { condition }] of Object.entries(needs)) {
        const { health } = compose.services.find((service) => service.name === other) ?? {};
        expect([name, other, condition === 'service_healthy' && health === null]).toEqual([name, other, false]);
      }
      expect(mounts.filter(({ from, isVolume }) => !isVolume && !existsSync(from))).toEqual([]);
    }
  });

  test('gives a worker longer to stop than it lets calls finish', () => {
    for (const { name, stopMs } of compose.services.filter((service) => service.name.startsWith('worker')))
      expect([name, stopMs > drainTimes().shutdownForceTime]).toEqual([name, true]);
  });

  test('opens only the page, and only to this machine', () => {
    const ports = compose.services.flatMap((service) => service.ports);
    expect(ports).toEqual(['127.0.0.1:8443:8443']);
  });
});
