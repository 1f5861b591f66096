// What is installed is what was looked at: every package of the product is known by a checksum, on
// every platform.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { z } from 'zod';

const names = z.record(z.string(), z.string()).optional();

const lockSchema = z.object({
  packages: z.record(
    z.string(),
    z.object({
      dependencies: names,
      optionalDependencies: names,
      peerDependencies: names,
      integrity: z.string().optional(),
      resolved: z.string().optional(),
    }),
  ),
});

const lockFile = new URL('../../package-lock.json', import.meta.url);
const { packages } = lockSchema.parse(JSON.parse(readFileSync(lockFile, 'utf8')));
const installed = Object.entries(packages).filter(([path]) => path !== '');

/** Where `name` is found from the package at `path`, as Node looks for it. */
function found(name: string, path: string): string | undefined {
  for (let at = path; ; at = at.slice(0, Math.max(0, at.lastIndexOf('node_modules/') - 1))) {
    const here = `${at === '' ? '' : `${at}/`}node_modules/${name}`;
    if (packages[here] !== undefined) return here;
    if (at === '') return undefined;
  }
}

/**
 * The packages that the product runs with: what it depends on, its peers too, and so on. The lock
 * file marks peers as development's.
 */
function production(): ReadonlySet<string> {
  const reached = new Set(['']);
  // A set is walked through what is added on the way, too.
  for (const path of reached) {
    const { dependencies, optionalDependencies, peerDependencies } = packages[path] ?? {};
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies })) {
      const place = found(name, path);
      if (place !== undefined) reached.add(place);
    }
  }
  reached.delete('');
  return reached;
}

test('knows every package that the product runs with by its checksum, those of other platforms too', () => {
  const paths = [...production()];
  expect(paths.length).toBeGreaterThan(100);
  expect(paths).toEqual(expect.arrayContaining(['node_modules/@temporalio/worker', 'node_modules/@swc/core']));
  const unchecked = paths.filter((path) => !/^sha512-[A-Za-z0-9+/]{86}==$/.test(packages[path]?.integrity ?? ''));
  expect(unchecked).toEqual([]);
});

test('takes no package from a place of its own: all come from the registry that is configured', () => {
  expect(installed.filter(([, { resolved }]) => resolved !== undefined).map(([path]) => path)).toEqual([]);
});
