// A disk that fails: whatever operation it is, nothing is acknowledged that cannot be read back,
// and the error says what to do.
import { mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { fileStore } from '../../../store/values/file-store.ts';
import { fileLayout } from '../../../store/values/file-reads.ts';
import type { Files } from '../../../store/values/file-io.ts';
import { hashOf, type Store, StoreError } from '../../../store/values/store.ts';
import type { Hash } from '../../../workflows/contract/ids.ts';
import { failingFiles } from '../../support/failing-files.ts';
import { MAY_NOT_MOUNT, mountSmall } from '../../support/small-disk.ts';
import { tempDir } from '../../support/temp-dir.ts';

const SEGMENT = Buffer.from('segment');
const step = (store: Store) => store.writeStep({ key: 'steps/s-1/a', bytes: Buffer.from('facts'), blobs: [SEGMENT] });

const operations = ['write', 'flush', 'rename', 'link', 'flushFolder', 'makeFolder'] as const satisfies (keyof Files)[];
const codes: [string, RegExp][] = [
  ['ENOSPC', /free some/],
  ['EIO', /check it/],
  ['EROFS', /writable/],
  ['EMFILE', /ulimit -n/],
  ['EACCES', /access/],
];

test.each(operations.flatMap((operation) => codes.map(([code, advice]) => ({ operation, code, advice }))))(
  '$code in $operation: the step is not acknowledged, and goes through when the disk is well again (F6)',
  async ({ operation, code, advice }) => {
    const { files, fail } = failingFiles();
    const dir = tempDir();
    const store = fileStore({ dir, files });
    // A damaged value in the way, so that the step needs every operation.
    writeFileSync(fileLayout(dir).blob(await store.put(SEGMENT)), 'damaged');
    fail(operation, code);
    const error = await step(store).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(StoreError);
    expect(error).toMatchObject({ problem: 'unavailable', message: expect.stringMatching(advice) });
    expect(String(error)).toContain(code);
    fail(null);
    const created = await step(store);
    const record = await store.read('steps/s-1/a');
    expect(created.kind === 'created' || Buffer.compare(created.bytes, record ?? Buffer.of()) === 0).toBe(true);
    expect(await store.get(hashOf(SEGMENT))).toEqual(SEGMENT);
  },
);

test.each(['read', 'flush', 'makeFolder', 'ages', 'write'] as const)(
  'a store that cannot be opened because of %s opens when the disk is well again (F6)',
  async (operation) => {
    const { files, fail } = failingFiles();
    const store = fileStore({ dir: tempDir(), files });
    fail(operation, 'EIO');
    await expect(store.put(SEGMENT)).rejects.toMatchObject({ problem: 'unavailable' });
    fail(null);
    expect(await store.get(await store.put(SEGMENT))).toEqual(SEGMENT);
  },
);

test('a value that cannot be read for lack of descriptors is unavailable, not missing (F6)', async () => {
  const { files, fail } = failingFiles();
  const store = fileStore({ dir: tempDir(), files });
  const hash = await store.put(SEGMENT);
  fail('read', 'EMFILE');
  await expect(store.get(hash)).rejects.toMatchObject({ problem: 'unavailable' });
});

test('a record that cannot be read for lack of descriptors is unavailable, not absent (F6)', async () => {
  const { files, fail } = failingFiles();
  const store = fileStore({ dir: tempDir(), files });
  await step(store);
  fail('readNow', 'EMFILE');
  await expect(store.read('steps/s-1/a')).rejects.toMatchObject({ problem: 'unavailable' });
});

test('a full disk: what was acknowledged before reads back, the rest says so (F6)', async ({ skip }) => {
  const dir = tempDir();
  skip(!mountSmall(dir, '256k'), MAY_NOT_MOUNT);
  const store = fileStore({ dir });
  const stored: Hash[] = [];
  const fill = async (): Promise<never> => {
    for (let n = 0; ; n += 1) stored.push(await store.put(Buffer.alloc(10_000, n)));
  };
  await expect(fill()).rejects.toThrow(/no space is left on the disk/);
  expect(stored.length).toBeGreaterThan(3);
  for (const [n, hash] of stored.entries()) expect(await store.get(hash)).toEqual(Buffer.alloc(10_000, n));
  expect(readdirSync(`${dir}/tmp`)).toEqual([]);
});

test('temp files older than a day are removed when the store is opened, younger ones stay', async () => {
  const dir = tempDir();
  mkdirSync(`${dir}/tmp`);
  for (const name of ['old', 'young']) writeFileSync(`${dir}/tmp/${name}`, 'half a val');
  const yesterday = new Date(Date.now() - 25 * 3_600_000);
  utimesSync(`${dir}/tmp/old`, yesterday, yesterday);
  await fileStore({ dir }).put(SEGMENT);
  expect(readdirSync(`${dir}/tmp`)).toEqual(['young']);
});
