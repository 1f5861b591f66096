// The store in a bucket, for workers and clients of many machines: blobs/<hash> and keys/<key>,
// each written once (W1, W2). A step waits for one request: its record carries its values, which
// are written beside it under their own names. Whoever finds the record of a writer that died in
// between writes them. Large ones are sent once, before the record.
import { randomUUID } from 'node:crypto';
import { type Hash, isHash } from '../../../workflows/contract/ids.ts';
import { runOnce } from '../../../system/async.ts';
import { RecentMap } from '../../../system/recent-map.ts';
import type { BlobCache } from '../blob-cache.ts';
import { decodeRecord, encodeRecord, type KeyRecord } from '../key-record.ts';
import { checkSeal, parseNonce, type SealKeys, type Sealing, sealedNonce } from './record-seal.ts';
import type { Objects } from './s3-objects.ts';
import { beganSealed, newStoreId, sealingOf, type StoreMemory } from './sealed-since.ts';
import { parseIdentity, type StoreIdentity } from '../store-folder.ts';
import { corruptRecord, corruptValue, hashOf, keyProblem, missingValue, StoreError } from '../store.ts';
import type { Created, Store } from '../store.ts';

/** How records are sealed; without keys they are not. */
export type Seals = { readonly keys?: SealKeys | undefined; readonly memory: StoreMemory; readonly now?: () => number };

export type S3Store = Store & {
  /**
   * Reads `store.json`, or creates it. Throws StoreError for a store that this version cannot use.
   */
  identity(): Promise<StoreIdentity>;
  /** Null where records are not sealed. Throws StoreError. */
  sealing(): Promise<Sealing | null>;
};

/** Blobs that this process has written: a value that many steps share is sent once. */
const KNOWN = 10_000;
/**
 * Milliseconds. Then it is written again: something that cleans the bucket by age may have removed
 * it.
 */
const KNOWN_FOR = 3_600_000;
/** A record is never changed: what this process created or found is not asked for again (W2). */
const RECORDS = 256;
const MOST_OF_RECORD = 256 * 1024;
/**
 * Bytes of values that a record carries: beyond, sending them twice costs more than waiting once
 * more.
 */
const MOST_CARRIED = 64 * 1024;

/** `cache`: of this machine, so that what was read once is not asked for again. */
export function s3Store(objects: Objects, cache: BlobCache, seals: Seals): S3Store {
  const { identity, sealing } = opened(objects, seals);
  const known = new RecentMap<Hash, Moment>(KNOWN);
  const records = new RecentMap<string, Uint8Array>(RECORDS);
  const remember = (key: string, bytes: Uint8Array): void => {
    if (bytes.length <= MOST_OF_RECORD) records.set(key, bytes.slice());
  };

  const wasWritten = (hash: Hash): boolean => {
    const written = known.get(hash);
    return written !== undefined && isRecent(written);
  };
  const put = async (bytes: Uint8Array): Promise<Hash> => {
    const hash = hashOf(bytes);
    if (wasWritten(hash)) return hash;
    const own = bytes.slice();
    const begun = thisMoment();
    await objects.put(blobName(hash), own);
    cache.put(hash, own);
    known.set(hash, begun);
    return hash;
  };
  const get = async (hash: Hash): Promise<Uint8Array> => {
    const name = blobName(hash);
    const cached = await cache.get(hash);
    if (cached) return cached;
    const bytes = await getValue(objects, hash);
    if (!bytes) throw missingValue(hash, objects.place(name));
    if (hashOf(bytes) !== hash) throw corruptValue(hash, objects.place(name), bytes.length);
    cache.put(hash, bytes);
    return bytes;
  };
  const has = async (hash: Hash): Promise<boolean> =>
    (await objects.writtenAt(blobName(hash))) !== null || (await objects.writtenAt(asideName(hash))) !== null;
  /**
   * Also what a cleaning has set aside: one that did not see the record yet may be about to remove
   * it.
   */
  const writeMissing = async (value: Uint8Array): Promise<void> => {
    const hash = hashOf(value);
    if (!wasWritten(hash) && (await objects.writtenAt(blobName(hash))) === null) await put(value);
  };
  /** `values`: written beside the record. */
  const create = async (key: string, given: Uint8Array, values: readonly Uint8Array[] = []): Promise<Created> => {
    const there = records.get(key);
    if (there) return { kind: 'existing', bytes: there.slice() };
    const bytes = given.slice();
    const carried = sizeOf(values) <= MOST_CARRIED ? values : [];
    const writing = allOf(recordName(key), values.map(put));
    if (carried.length < values.length) await writing;
    const [created, written] = await Promise.allSettled([
      createRecord({ objects, sealing: await sealing() }, key, { bytes, blobs: carried }),
      writing,
    ]);
    if (created.status === 'rejected') throw created.reason;
    if (written.status === 'rejected') throw written.reason;
    const existing = created.value;
    if (existing) await Promise.all(existing.values.map(writeMissing));
    remember(key, existing?.bytes ?? bytes);
    return existing ? { kind: 'existing', bytes: existing.bytes } : { kind: 'created' };
  };
  const read = async (key: string): Promise<Uint8Array | null> => {
    const there = records.get(key);
    if (there) return there.slice();
    const record = await readRecord({ objects, sealing: await sealing() }, key);
    if (!record) return null;
    await Promise.all(record.values.map(writeMissing));
    remember(key, record.bytes);
    return record.bytes;
  };

  /** Nothing is read from or written to a store of another version. */
  const open =
    <Given extends readonly unknown[], Result>(work: (...given: Given) => Promise<Result>) =>
    async (...given: Given): Promise<Result> => (await identity(), work(...given));

  return {
    identity,
    sealing,
    put: open(put),
    get: open(get),
    has: open(has),
    create: open(create),
    read: open(read),
    writeStep: open(({ key, bytes, blobs }) => create(key, bytes, blobs)),
  };
}

/** Asked for once, a failure excepted. */
function opened(objects: Objects, { keys, memory, now = Date.now }: Seals): Pick<S3Store, 'identity' | 'sealing'> {
  const identity = runOnce(() => findIdentity(objects, keys));
  const sealing = runOnce(async () => {
    const found = await identity();
    if (keys) return sealingOf({ objects, keys, memory, now }, found);
    if (!beganSealed(found)) return null;
    throw new StoreError(
      'unavailable',
      `the records of the store in ${objects.place('')} are sealed: name the file with its keys in PERDURE_CODEC_KEYS`,
    );
  });
  return { identity, sealing };
}

/** By both clocks: one can be set back, the other stands still while the machine sleeps. */
type Moment = { readonly at: number; readonly tick: number };

function thisMoment(): Moment {
  return { at: Date.now(), tick: performance.now() };
}

function isRecent({ at, tick }: Moment): boolean {
  const age = Date.now() - at;
  return age >= 0 && age < KNOWN_FOR && performance.now() - tick < KNOWN_FOR;
}

/** Throws RangeError for what is no hash: it may come from outside. */
export function blobName(hash: Hash): string {
  if (!isHash(hash)) throw new RangeError(`"${String(hash).slice(0, 80)}" is not a hash of a stored value`);
  return `blobs/${hash}`;
}

/** Where a cleaning puts a value aside. */
export function asideName(hash: Hash): string {
  return `aside/${hash}`;
}

/** A cleaning may move it from one place to the other, and back, at any moment. */
export async function getValue(objects: Objects, hash: Hash): Promise<Uint8Array | null> {
  const name = blobName(hash);
  return (await objects.get(name)) ?? (await objects.get(asideName(hash))) ?? (await objects.get(name));
}

export function recordName(key: string): string {
  const problem = keyProblem(key);
  if (problem !== undefined) throw new RangeError(problem);
  return `keys/${key}`;
}

/** `values`: that it carries. */
type FoundRecord = { readonly bytes: Uint8Array; readonly nonce: string; readonly values: readonly Uint8Array[] };

/** Null: records are read as they are. */
export type Records = { readonly objects: Objects; readonly sealing: Sealing | null };

/** Throws StoreError for one that is damaged, or that nobody with a key has written there. */
export async function readRecord({ objects, sealing }: Records, key: string): Promise<FoundRecord | null> {
  const name = recordName(key);
  const place = objects.place(name);
  const object = await objects.getDated(name);
  if (!object) return null;
  const record = decodeRecord(key, object.bytes);
  if ('problem' in record) throw corruptRecord(key, place, record.problem);
  const { bytes, blobs } = record;
  const [first = new Uint8Array(), ...values] = blobs;
  const nonce = parseNonce(Buffer.from(first).toString());
  if (sealing) checkSeal(sealing, nonce, { key, place, record: { bytes, blobs: values }, at: object.at });
  return { bytes, nonce: nonce.nonce, values };
}

/**
 * Returns the record that is there instead, if one is. A create whose answer was lost is sent again
 * by the SDK and then finds itself: the nonce in the record says whose it is.
 */
async function createRecord(records: Records, key: string, record: KeyRecord): Promise<FoundRecord | null> {
  const { objects, sealing } = records;
  const name = recordName(key);
  const nonce = randomUUID();
  const first = Buffer.from(sealedNonce(sealing, key, nonce, record));
  const whole = encodeRecord(key, { bytes: record.bytes, blobs: [first, ...record.blobs] });
  if (await objects.putNew(name, whole)) return null;
  const existing = await readRecord(records, key);
  if (!existing) throw corruptRecord(key, objects.place(name), 'vanished while it was read');
  return existing.nonce === nonce ? null : existing;
}

const IDENTITY = 'store.json';

async function findIdentity(objects: Objects, keys: SealKeys | undefined): Promise<StoreIdentity> {
  const place = objects.place(IDENTITY);
  const there = await objects.get(IDENTITY);
  if (there) return parseIdentity(objects.place(''), place, there);
  const own: StoreIdentity = { version: 1, id: newStoreId(keys) };
  if (await objects.putNew(IDENTITY, Buffer.from(`${JSON.stringify(own)}\n`))) return own;
  const bytes = await objects.get(IDENTITY);
  if (!bytes) throw new StoreError('unavailable', `${place} vanished while it was read: try again`);
  return parseIdentity(objects.place(''), place, bytes);
}

function sizeOf(values: readonly Uint8Array[]): number {
  return values.reduce((sum, { length }) => sum + length, 0);
}

/** Resolves when all are written, none of them still under way when it rejects. */
async function allOf(step: string, writing: readonly Promise<Hash>[]): Promise<void> {
  for (const value of await Promise.allSettled(writing)) {
    if (value.status === 'rejected') throw asStep(step, value.reason);
  }
}

function asStep(name: string, reason: unknown): unknown {
  if (!(reason instanceof StoreError)) return reason;
  return new StoreError(reason.problem, `${reason.message} (while ${name} was written)`, { cause: reason });
}
