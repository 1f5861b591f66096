// Damage to stored bytes is an error that names the value and the file, never an answer.
import { appendFileSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { fileStore } from '../../activities/transcript/file-store.ts';
import { type Store, StoreError } from '../../activities/transcript/store.ts';
import { tempDir } from '../support/temp-dir.ts';

const KEY = 'steps/s-1/request';
const VALUE = Buffer.from('{"head":"a segment of a transcript, 64 bytes or so of JSON text"}');

type Stored = { readonly path: string; read(): Promise<Uint8Array | null>; write(): Promise<unknown> };

async function stored(kind: 'value' | 'record'): Promise<Stored> {
  const dir = tempDir();
  const store: Store = fileStore({ dir });
  const hash = await store.put(VALUE);
  await store.create(KEY, VALUE);
  return kind === 'value'
    ? { path: `${dir}/blobs/${hash.slice(0, 2)}/${hash}`, read: () => store.get(hash), write: () => store.put(VALUE) }
    : { path: `${dir}/keys/${KEY}`, read: () => store.read(KEY), write: () => store.create(KEY, VALUE) };
}

async function expectCorrupt({ read, path }: Stored, what: string): Promise<void> {
  const error = await read().catch((thrown: unknown) => thrown);
  expect(error, what).toBeInstanceOf(StoreError);
  expect(error, what).toMatchObject({ problem: 'corrupt', message: expect.stringContaining(path) });
}

test.each(['value', 'record'] as const)('F7 a %s cut at any byte is found out', async (kind) => {
  const found = await stored(kind);
  const whole = readFileSync(found.path);
  for (let length = whole.length - 1; length >= 0; length -= 1) {
    truncateSync(found.path, length);
    await expectCorrupt(found, `cut to ${length}`);
  }
});

test.each(['value', 'record'] as const)('F7 a %s with any bit flipped is found out', async (kind) => {
  const found = await stored(kind);
  const whole = readFileSync(found.path);
  for (let bit = 0; bit < whole.length * 8; bit += 3) {
    const damaged = Buffer.from(whole);
    damaged[bit >> 3] = (damaged[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    writeFileSync(found.path, damaged);
    await expectCorrupt(found, `bit ${bit}`);
  }
});

test.each(['value', 'record'] as const)('F7 a %s that is zeroed, or longer than it was, is found out', async (kind) => {
  const found = await stored(kind);
  const whole = readFileSync(found.path);
  writeFileSync(found.path, Buffer.alloc(whole.length));
  await expectCorrupt(found, 'zeroed');
  writeFileSync(found.path, whole);
  appendFileSync(found.path, '\n');
  await expectCorrupt(found, 'longer');
});

test('F7 a record under the name of another is found out', async () => {
  const dir = tempDir();
  const store = fileStore({ dir });
  await store.create('claims/s-1/a', Buffer.from('mine'));
  await store.create('claims/s-1/b', Buffer.from('yours'));
  writeFileSync(`${dir}/keys/claims/s-1/a`, readFileSync(`${dir}/keys/claims/s-1/b`));
  await expect(store.read('claims/s-1/a')).rejects.toThrow(/"claims\/s-1\/a" does not match its checksum/);
});

test('F7 a value whose file is gone is missing, by name and place', async () => {
  const found = await stored('value');
  rmSync(found.path);
  await expect(found.read()).rejects.toMatchObject({
    problem: 'missing',
    message: expect.stringContaining(found.path),
  });
});

test('a damaged value is mended by storing it again, a damaged record is not', async () => {
  const value = await stored('value');
  truncateSync(value.path, 10);
  await value.write();
  expect(await value.read()).toEqual(VALUE);
  const record = await stored('record');
  truncateSync(record.path, 10);
  await expect(record.write()).rejects.toMatchObject({ problem: 'corrupt' });
});
