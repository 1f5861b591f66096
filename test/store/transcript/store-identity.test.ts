// A store folder knows what it is.
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fileStore } from '../../../store/values/file-store.ts';
import { storeIdentity, storeIdOf } from '../../../store/values/store-folder.ts';
import { tempDir } from '../../support/temp-dir.ts';

test('of many that open a new folder at once, all get the same identity, and it stays', async () => {
  const dir = `${tempDir()}/deep/store`;
  const opened = await Promise.all(Array.from({ length: 20 }, () => storeIdentity(dir)));
  expect(new Set(opened.map(({ id }) => id)).size).toBe(1);
  expect(await storeIdentity(dir)).toEqual({ version: 1, id: opened[0]?.id });
  expect(JSON.parse(readFileSync(`${dir}/store.json`, 'utf8'))).toEqual(opened[0]);
});

test('a folder of another version is refused with a sentence, and nothing is written to it', async () => {
  const dir = tempDir();
  writeFileSync(`${dir}/store.json`, '{"version":2,"id":"a"}');
  const refusal = /the store in .* has version 2, this Perdure reads version 1: use the Perdure that made it/;
  await expect(storeIdentity(dir)).rejects.toThrow(refusal);
  await expect(fileStore({ dir }).put(Buffer.from('x'))).rejects.toThrow(refusal);
});

test.each(['', '{"version":1', '[]', '{"version":1}'])(
  'an unreadable store.json (%j) is said, not replaced',
  async (text) => {
    const dir = tempDir();
    writeFileSync(`${dir}/store.json`, text);
    await expect(storeIdentity(dir)).rejects.toMatchObject({
      problem: 'corrupt',
      message: expect.stringContaining(dir),
    });
    expect(readFileSync(`${dir}/store.json`, 'utf8')).toBe(text);
  },
);

test('no new store is made in the place of one that has gone since it was opened (F13)', async () => {
  const dir = join(tempDir(), 'store');
  const { id } = await storeIdentity(dir);
  renameSync(dir, `${dir}.away`);
  await expect(storeIdentity(dir)).rejects.toMatchObject({
    problem: 'unavailable',
    message: expect.stringMatching(/has gone since it was opened: its folder was moved, removed or replaced/),
  });
  expect(existsSync(dir)).toBe(false);
  renameSync(`${dir}.away`, dir);
  expect((await storeIdentity(dir)).id).toBe(id);
});

test('a store that was replaced or removed since it was opened is missed at the next look at its id (F13)', async () => {
  const dir = join(tempDir(), 'store');
  const id = await storeIdOf(dir);
  expect(await storeIdOf(dir)).toBe(id);
  const gone = { problem: 'unavailable', message: expect.stringMatching(/has gone since it was opened/) };
  const path = `${dir}/store.json`;
  const own = readFileSync(path);
  writeFileSync(`${path}.other`, own.toString().replace(id, 'another'));
  renameSync(`${path}.other`, path);
  await expect(storeIdOf(dir)).rejects.toMatchObject(gone);
  rmSync(path);
  await expect(storeIdOf(dir)).rejects.toMatchObject(gone);
  writeFileSync(path, own);
  expect(await storeIdOf(dir)).toBe(id);
});

test('a store that is moved away while it is used is missed, and used again when it is back', async () => {
  const dir = join(tempDir(), 'store');
  const store = fileStore({ dir });
  await store.put(Buffer.from('one'));
  renameSync(dir, `${dir}.away`);
  for (let n = 0; n < 300; n += 1)
    await expect(store.put(Buffer.from(`other ${n}`))).rejects.toMatchObject({ problem: 'unavailable' });
  expect(existsSync(dir)).toBe(false);
  renameSync(`${dir}.away`, dir);
  expect(await store.has(await store.put(Buffer.from('two')))).toBe(true);
});

test('nothing counts as missing in a store that was moved away: a record there was written (L39 F13)', async () => {
  const dir = join(tempDir(), 'store');
  const store = fileStore({ dir });
  const hash = await store.put(Buffer.from('one'));
  await store.create('key', Buffer.from('said'));
  renameSync(dir, `${dir}.away`);
  const gone = { problem: 'unavailable', message: expect.stringMatching(/has gone since it was opened/) };
  await expect(store.read('key')).rejects.toMatchObject(gone);
  await expect(store.get(hash)).rejects.toMatchObject(gone);
  await expect(store.has(hash)).rejects.toMatchObject(gone);
  await storeIdentity(`${dir}.other`);
  renameSync(`${dir}.other`, dir);
  await expect(store.read('key')).rejects.toMatchObject(gone);
  renameSync(dir, `${dir}.other`);
  renameSync(`${dir}.away`, dir);
  expect(Buffer.from((await store.read('key')) ?? []).toString()).toBe('said');
  expect(await store.read('another')).toBeNull();
});
