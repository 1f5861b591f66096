// What is installed is what was looked at: every package of the product is known by a checksum, on every platform.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { z } from 'zod';

const lockSchema = z.object({
  packages: z.record(
    z.string(),
    z.object({
      integrity: z.string().optional(),
      resolved: z.string().optional(),
    }),
  ),
});

const lockFile = new URL('../../package-lock.json', import.meta.url);
const { packages } = lockSchema.parse(JSON.parse(readFileSync(lockFile, 'utf8')));
const installed = Object.entries(packages).filter(([path]) => path !== '');

test('knows every package by its checksum, those of other platforms too', () => {
  expect(installed.length).toBeGreaterThan(100);
  const unchecked = installed.filter(([, { integrity }]) => !/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity ?? ''));
  expect(unchecked.map(([path]) => path)).toEqual([]);
});

test('takes no package from a place of its own: all come from the registry that is configured', () => {
  expect(installed.filter(([, { resolved }]) => resolved !== undefined).map(([path]) => path)).toEqual([]);
});
