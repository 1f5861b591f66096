import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { moveRef } from '../../../store/snapshots/move-ref.ts';
import { tempFolder } from '../../tools/support.ts';

test('a lock that a killed process left on a ref holds up the next commit and does not lose it (T1)', async () => {
  const ref = join(tempFolder(), 'ref');
  writeFileSync(ref, 'one\n');
  writeFileSync(`${ref}.lock`, '');
  expect(await moveRef(ref, async (parent) => `child of ${parent}`)).toBe('child of one');
  expect(readFileSync(ref, 'utf8')).toBe('child of one\n');
  expect(existsSync(`${ref}.lock`)).toBe(false);
});

test('commits that are written at once all follow one another (T1)', async () => {
  const ref = join(tempFolder(), 'ref');
  const writers = Array.from({ length: 20 }, (_, at) => moveRef(ref, async (parent) => `${parent ?? ''}${at},`));
  const written = await Promise.all(writers);
  const last = readFileSync(ref, 'utf8').trim();
  expect(last.split(',')).toHaveLength(21);
  for (const one of written) expect(last.startsWith(one)).toBe(true);
});

test('a process that stood still so long that its lock was taken writes its commit after the other (T1)', async () => {
  const ref = join(tempFolder(), 'ref');
  let [calls, goOn] = [0, () => undefined as void];
  const other = new Promise<void>((resolve) => (goOn = resolve));
  const slow = moveRef(ref, async (parent) => {
    calls += 1;
    if (calls === 1) await other;
    return `slow after ${parent}`;
  });
  const quick = moveRef(ref, async (parent) => `quick after ${parent}`);
  expect(await quick).toBe('quick after null');
  goOn();
  expect(await slow).toBe('slow after quick after null');
  expect(readFileSync(ref, 'utf8')).toBe('slow after quick after null\n');
});

test('a commit that cannot be written leaves the ref, and no lock (T1)', async () => {
  const ref = join(tempFolder(), 'ref');
  writeFileSync(ref, 'one\n');
  await expect(moveRef(ref, () => Promise.reject(new Error('no space')))).rejects.toThrow('no space');
  expect(readFileSync(ref, 'utf8')).toBe('one\n');
  expect(existsSync(`${ref}.lock`)).toBe(false);
});
