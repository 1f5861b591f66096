// Damage to stored bytes is an error that names the value and the file, never an answer.
import { appendFileSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { fileLayout } from '../../../store/values/file-reads.ts';
import { fileStore } from '../../../store/values/file-store.ts';
import { hashOf, type Store, StoreError } from '../../../store/values/store.ts';
import { tempDir } from '../../support/temp-dir.ts';

const KEY = 'steps/s-1/request';
const VALUE = Buffer.from('{"head":"a segment of a transcript, 64 bytes or so of JSON text"}');

type Stored = { readonly path: string; read(): Promise<Uint8Array | null>; write(): Promise<unknown> };

async function stored(kind: 'value' | 'record'): Promise<Stored> {
  const dir = tempDir();
  const store: Store = fileStore({ dir });
  const hash = await store.put(VALUE);
  await store.create(KEY, VALUE);
  return kind === 'value'
    ? { path: fileLayout(dir).blob(hash), read: () => store.get(hash), write: () => store.put(VALUE) }
    : { path: fileLayout(dir).record(KEY), read: () => store.read(KEY), write: () => store.create(KEY, VALUE) };
}

async function expectCorrupt({ read, path }: Stored, what: string): Promise<void> {
  const error = await read().catch((thrown: unknown) => thrown);
  expect(error, what).toBeInstanceOf(StoreError);
  expect(error, what).toMatchObject({ problem: 'corrupt', message: expect.stringContaining(path) });
}

test.each(['value', 'record'] as const)('a %s cut at any byte is found out (F7)', async (kind) => {
  const found = await stored(kind);
  const whole = readFileSync(found.path);
  for (let length = whole.length - 1; length >= 0; length -= 1) {
    truncateSync(found.path, length);
    await expectCorrupt(found, `cut to ${length}`);
  }
});

test.each(['value', 'record'] as const)('a %s with any bit flipped is found out (F7)', async (kind) => {
  const found = await stored(kind);
  const whole = readFileSync(found.path);
  for (let bit = 0; bit < whole.length * 8; bit += 3) {
    const damaged = Buffer.from(whole);
    damaged[bit >> 3] = (damaged[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    writeFileSync(found.path, damaged);
    await expectCorrupt(found, `bit ${bit}`);
  }
});

test.each(['value', 'record'] as const)(
  'a %s that is zeroed, or longer than it was, is found out (F7)',
  async (kind) => {
    const found = await stored(kind);
    const whole = readFileSync(found.path);
    writeFileSync(found.path, Buffer.alloc(whole.length));
    await expectCorrupt(found, 'zeroed');
    writeFileSync(found.path, whole);
    appendFileSync(found.path, '\n');
    await expectCorrupt(found, 'longer');
  },
);

test('a record under the name of another is found out (F7)', async () => {
  const dir = tempDir();
  const store = fileStore({ dir });
  await store.create('claims/s-1/a', Buffer.from('mine'));
  await store.create('claims/s-1/b', Buffer.from('yours'));
  writeFileSync(`${dir}/keys/claims/s-1/a`, readFileSync(`${dir}/keys/claims/s-1/b`));
  await expect(store.read('claims/s-1/a')).rejects.toThrow(/"claims\/s-1\/a" does not match its checksum/);
});

test('a value whose file is gone is missing, by name and place (F7)', async () => {
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

/** A step, whose record and value are one file under two names. */
async function storedStep() {
  const dir = tempDir();
  const store = fileStore({ dir });
  const hash = hashOf(VALUE);
  const write = () => store.writeStep({ key: KEY, bytes: Buffer.from('facts'), blobs: [VALUE] });
  await write();
  return { store, hash, write, record: fileLayout(dir).record(KEY), value: fileLayout(dir).blob(hash) };
}

test('a step cut or flipped anywhere: its record is found out, its value is too or is whole (F7)', async () => {
  const { store, hash, record } = await storedStep();
  const whole = readFileSync(record);
  const damaged = [
    ...Array.from(whole, (_, length) => whole.subarray(0, length)),
    ...Array.from(whole, (byte, at) => Buffer.from(whole).fill(byte ^ (1 << (at % 8)), at, at + 1)),
  ];
  let lost = 0;
  for (const bytes of damaged) {
    writeFileSync(record, bytes);
    await expect(store.read(KEY)).rejects.toMatchObject({ problem: 'corrupt' });
    const got = await store.get(hash).catch((error: unknown) => error);
    if (got instanceof Uint8Array) expect(got).toEqual(VALUE);
    else expect(got).toMatchObject({ problem: 'corrupt' });
    if (got instanceof StoreError) lost += 1;
  }
  expect(lost).toBeGreaterThan(whole.length);
});

test.each(['read', 'write'] as const)(
  'a %s that finds a step finds its value, though its writer died before it had its name (L16)',
  async (how) => {
    const { store, hash, value, write } = await storedStep();
    rmSync(value);
    if (how === 'read') await store.read(KEY);
    else expect(await write()).toEqual({ kind: 'existing', bytes: Buffer.from('facts') });
    expect(await store.get(hash)).toEqual(VALUE);
  },
);

test('a value that looks like a record of the store comes back as it is', async () => {
  const { store, record } = await storedStep();
  const bytes = readFileSync(record);
  expect(await store.get(await store.put(bytes))).toEqual(bytes);
});
