// A turn does what it adds, and nothing for each turn before it (L4).
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../../..');

type Counted = { readonly functions: number; readonly grown: readonly { readonly of: string }[] };

/**
 * A glance at each message that is sent, and at each folder and mount that other programs of the
 * machine have made since.
 */
const ALLOWED = [
  'activities/model/stream/stream.js encodeMessage',
  'store/transcript/system-message.js',
  'system/process/bwrap.js',
  'system/process/data-folders.js',
  'system/process/shown-places.js',
];

test.each([
  ['read', { path: 'a.txt' }],
  ['write', { path: 'a.txt', content: 'b' }],
  ['bash', { command: 'echo a >> b.txt' }],
] as const)('a late turn that calls %s calls no function more often than an early one (L4)', async (name, input) => {
  const argv = [join(import.meta.dirname, 'count-calls.mjs'), root, JSON.stringify([name, input])];
  const { stdout } = await promisify(execFile)(process.execPath, argv, { maxBuffer: 2 ** 26 });
  const { functions, grown } = JSON.parse(stdout) as Counted;
  expect(functions).toBeGreaterThan(400);
  expect(grown.filter(({ of }) => !ALLOWED.some((allowed) => of.includes(allowed)))).toEqual([]);
});
