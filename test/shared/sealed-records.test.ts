// Records of a shared store against whoever can write in the bucket and has no key (W1).
import { randomUUID } from 'node:crypto';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, inject, test } from 'vitest';
import { decodeRecord, encodeRecord } from '../../store/values/key-record.ts';
import { s3Objects, type Objects } from '../../store/values/s3/s3-objects.ts';
import type { S3Store } from '../../store/values/s3/s3-store.ts';
import type { KeyRing } from '../../connection/payloads/key-ring.ts';
import { newKeys } from '../support/new-keys.ts';
import { BUCKET } from '../support/s3-gateway.ts';
import { sharedStore, useS3Keys } from '../support/shared-store.ts';
import { storeContract } from '../support/store-contract.ts';
import { tempDir } from '../support/temp-dir.ts';

beforeAll(useS3Keys);

let keys: KeyRing;
const DAY_MS = 24 * 3_600_000;

storeContract('the store in a bucket, whose records are sealed (W1)', () => sharedStore({ keys: newKeys() }));

let prefix = '';
beforeEach(() => {
  prefix = randomUUID();
  keys = newKeys();
});

const bytesOf = (text: string): Uint8Array => Buffer.from(text);
const textOf = (bytes: Uint8Array | null): string | null => bytes && Buffer.from(bytes).toString();

/** As whoever may write there has it. */
const bucket = (): Objects => s3Objects({ bucket: BUCKET, prefix, endpoint: inject('s3Endpoint') });

/** Another worker's, with nothing in its memory. */
const opened = (more: Partial<Parameters<typeof sharedStore>[0]> = {}): S3Store =>
  sharedStore({ prefix, keys, ...more });

const NAME = 'worktrees/s-1/begun';
const REFUSED = { name: 'StoreError', problem: 'corrupt' };

async function written(text = 'its holder'): Promise<void> {
  await opened().writeStep({ key: NAME, bytes: bytesOf(text), blobs: [bytesOf('carried')] });
}

/**
 * The record with other bytes, its checksum right; `nonce` makes the first value of the one that is
 * there.
 */
async function forge(nonce = (text: string): string => text, bytes = 'another folder'): Promise<void> {
  const there = decodeRecord(NAME, (await bucket().get(`keys/${NAME}`)) as Uint8Array);
  if ('problem' in there) throw new Error(there.problem);
  const [first, ...blobs] = there.blobs;
  const forged = [bytesOf(nonce(textOf(first as Uint8Array) ?? '')), ...blobs];
  await bucket().put(`keys/${NAME}`, encodeRecord(NAME, { bytes: bytesOf(bytes), blobs: forged }));
}

describe('who writes in the bucket without the key changes nothing that is read (W1)', () => {
  test('a record that was changed is refused, to whoever reads it or would create it', async () => {
    await written();
    expect(textOf(await opened().read(NAME))).toBe('its holder');
    await forge();
    await expect(opened().read(NAME)).rejects.toMatchObject({
      ...REFUSED,
      message: expect.stringContaining(`"${NAME}" was not sealed for this place`) as string,
    });
    await expect(opened().create(NAME, bytesOf('mine'))).rejects.toMatchObject(REFUSED);
  });

  test('one whose seal was taken off, or that never had one, is refused in a store that began with keys', async () => {
    await written();
    await forge((nonce) => nonce.split('\n')[0] as string, 'its holder');
    await expect(opened().read(NAME)).rejects.toThrow(/is not sealed, as those of this store are since/);
  });

  test('a value that it carries cannot be changed either', async () => {
    await written();
    const there = decodeRecord(NAME, (await bucket().get(`keys/${NAME}`)) as Uint8Array);
    if ('problem' in there) throw new Error(there.problem);
    const blobs = [there.blobs[0] as Uint8Array, bytesOf('other')];
    await bucket().put(`keys/${NAME}`, encodeRecord(NAME, { bytes: there.bytes, blobs }));
    await expect(opened().read(NAME)).rejects.toMatchObject(REFUSED);
  });

  test('one of another name, or of the same name in another store, is refused', async () => {
    await written();
    const there = decodeRecord(NAME, (await bucket().get(`keys/${NAME}`)) as Uint8Array);
    if ('problem' in there) throw new Error(there.problem);
    await bucket().put('keys/worktrees/s-2/begun', encodeRecord('worktrees/s-2/begun', there));
    await expect(opened().read('worktrees/s-2/begun')).rejects.toMatchObject(REFUSED);
    prefix = randomUUID();
    await opened().identity();
    await bucket().put(`keys/${NAME}`, encodeRecord(NAME, there));
    await expect(opened().read(NAME)).rejects.toMatchObject(REFUSED);
  });

  test('a store that no longer says it is sealed is refused by each machine that has seen it', async () => {
    const dataDir = tempDir();
    await opened({ dataDir }).create(NAME, bytesOf('its holder'));
    await bucket().put('store.json', bytesOf('{"version":1,"id":"as-old-ones-are"}'));
    const [file = ''] = readdirSync(join(dataDir, 'sealed-stores'));
    const path = join(dataDir, 'sealed-stores', file);
    await expect(opened({ dataDir }).read(NAME)).rejects.toMatchObject({
      problem: 'unavailable',
      message: expect.stringContaining(`if you have replaced it, remove ${path}`) as string,
    });
    rmSync(path);
    await expect(opened({ dataDir }).read(NAME)).rejects.toMatchObject(REFUSED);
  });
});

describe('a store that an earlier release made (W1)', () => {
  const early = (): S3Store => sharedStore({ prefix });

  test('its records are read; a day after the first opening with keys none is taken without a seal', async () => {
    await early().create(NAME, bytesOf('its holder'));
    const since = Date.now();
    expect(textOf(await opened().read(NAME))).toBe('its holder');
    // An earlier worker that works on beside the newer ones reads what they write, and is read.
    await opened().create('claims/s-1/a', bytesOf('new'));
    expect(textOf(await early().read('claims/s-1/a'))).toBe('new');
    await early().create('claims/s-1/b', bytesOf('old'));
    expect(textOf(await opened().read('claims/s-1/b'))).toBe('old');
    const sealing = await opened().sealing();
    expect(sealing?.until).toBeGreaterThanOrEqual(since + DAY_MS);
    expect(sealing?.until).toBeLessThanOrEqual(Date.now() + DAY_MS);
  });

  test('what is written there without a seal after that day is refused', async () => {
    await early().create('claims/s-1/a', bytesOf('old'));
    await opened({ now: () => Date.now() - 2 * DAY_MS }).identity();
    const dataDir = tempDir();
    const late = opened({ dataDir, now: () => Date.now() - 2 * DAY_MS });
    await late.create('claims/s-1/b', bytesOf('sealed'));
    await early().create(NAME, bytesOf('another folder'));
    await expect(opened().read(NAME)).rejects.toMatchObject(REFUSED);
    expect(textOf(await opened().read('claims/s-1/b'))).toBe('sealed');
    // Said anew in the bucket, it counts for no machine that has seen it.
    await bucket().remove('sealed.json');
    await expect(opened({ dataDir }).read(NAME)).rejects.toMatchObject(REFUSED);
    await bucket().put('sealed.json', bytesOf(`{"v":1,"until":9999999999999,"seal":"00000000 ${'0'.repeat(64)}"}`));
    await expect(opened({ dataDir }).read(NAME)).rejects.toMatchObject(REFUSED);
    await expect(opened().read(NAME)).rejects.toMatchObject({ problem: 'unavailable' });
  });
});

test('a key that is not there, or none at all, is said in one sentence, and waits for a worker that has it (W1)', async () => {
  await written();
  const other = newKeys();
  await expect(opened({ keys: other }).read(NAME)).rejects.toMatchObject({
    problem: 'unavailable',
    message: expect.stringContaining(
      `is sealed with key ${keys.active().id}, which is not in ${other.path}: add it there`,
    ) as string,
  });
  await expect(sharedStore({ prefix }).read(NAME)).rejects.toMatchObject({
    problem: 'unavailable',
    message: expect.stringContaining('name the file with its keys in PERDURE_CODEC_KEYS') as string,
  });
});
