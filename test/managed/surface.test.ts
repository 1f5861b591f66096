// The table of paths against the SDK's own resource classes.
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { refusedPaths, servedRoutes } from '../../managed/surface.ts';

const resources = join(dirname(createRequire(import.meta.url).resolve('@anthropic-ai/sdk')), 'resources');

type Requested = { readonly method: string; readonly path: string; readonly file: string };

const methods: Readonly<Record<string, string>> = { getAPIList: 'get' };

/** Every request that a compiled resource class makes. */
function requestsOfSdk(): readonly Requested[] {
  return readdirSync(resources, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.js'))
    .flatMap((file) => {
      const text = readFileSync(join(resources, file), 'utf8');
      const calls = text.matchAll(/_client\s*\.(\w+)\((?:\(0, path_1\.path\) ?)?([`'])(\/v1\/[^`']*)\2/g);
      return [...calls].map(([, name = '', , path = '']) => ({
        method: methods[name] ?? name,
        path: path.replace('/v1', '').replaceAll(/\$\{\w+\}/g, '{}'),
        file,
      }));
    });
}

const anonymous = (path: string): string => path.replaceAll(/\{\w+\}/g, '{}');

function isKnown({ method, path }: Requested): boolean {
  if (servedRoutes.some((route) => route.method === method && anonymous(route.path) === path)) return true;
  return refusedPaths
    .flatMap(({ paths }) => paths)
    .some((one) => (one.endsWith('/*') ? path.startsWith(anonymous(one).slice(0, -1)) : anonymous(one) === path));
}

test('every path of the SDK is served or refused by name (G6 G7)', () => {
  const requests = requestsOfSdk();
  expect(requests.length).toBeGreaterThan(150);
  expect(requests.filter((one) => !isKnown(one))).toEqual([]);
});

test('every route that is served is one of the SDK (G7)', () => {
  const requests = requestsOfSdk();
  const unknown = servedRoutes.filter(
    ({ method, path }) => !requests.some((one) => one.method === method && one.path === anonymous(path)),
  );
  expect(unknown).toEqual([]);
});
