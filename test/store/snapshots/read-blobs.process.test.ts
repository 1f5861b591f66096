// Contents of snapshots by one git for many of them.
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readBlobs } from '../../../store/snapshots/read-blobs.ts';
import type { RunHeld } from '../../../store/snapshots/take-snapshot.ts';
import { runHere, shadowed } from './support.ts';

const idOf = (content: Buffer): string =>
  createHash('sha1').update(`blob ${content.length}\0`).update(content).digest('hex');

test('many contents are read by two gits, byte for byte and in the order asked (T11)', async () => {
  const { root, place, take } = shadowed();
  const contents = Array.from({ length: 300 }, (_, at) => Buffer.from(`${at}\n`.repeat(at)));
  contents.push(Buffer.from([0, 255, 10, 10, 0]), Buffer.from(''));
  contents.forEach((content, at) => writeFileSync(join(root, `f${at}`), content));
  await take();
  let gits = 0;
  const run: RunHeld = (argv, options) => {
    gits += 1;
    return runHere(argv, options);
  };
  const wanted = [...contents.toReversed(), contents[7] as Buffer];
  const read: Buffer[] = [];
  for await (const [id, content] of readBlobs({ gitDir: place.gitDir, git: 'git', run }, wanted.map(idOf))) {
    expect(id).toBe(idOf(content));
    read.push(Buffer.from(content));
  }
  expect(Buffer.concat(read).equals(Buffer.concat(wanted))).toBe(true);
  expect(gits).toBe(2);
});

test('large contents are read a few at a time, and a missing one is named (T11)', async () => {
  const { root, place, take } = shadowed();
  const large = [1, 2, 3].map((byte) => Buffer.alloc(15 * 1024 * 1024, byte));
  large.forEach((content, at) => writeFileSync(join(root, `f${at}`), content));
  await take();
  const reading = { gitDir: place.gitDir, git: 'git', run: runHere };
  let printed = 0;
  const run: RunHeld = async (argv, options) => {
    const text = await runHere(argv, options);
    printed = Math.max(printed, text.length);
    return text;
  };
  let read = 0;
  for await (const [, content] of readBlobs({ ...reading, run }, large.map(idOf))) read += content.length;
  expect(read).toBe(45 * 1024 * 1024);
  expect(printed).toBeLessThan(20 * 1024 * 1024);
  const missing = 'f'.repeat(40);
  await expect(readBlobs(reading, [missing]).next()).rejects.toThrow(`the snapshots lack ${missing}`);
});
