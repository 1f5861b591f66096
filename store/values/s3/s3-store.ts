// The store in a bucket, for workers and clients of many machines: blobs/<hash> and keys/<key>,
// each written once (W1, W2). A step waits for one request: its record carries its values, which
// are also written under their own names at the same time. A reader that finds the record of a
// writer that died in between writes them. Large values are sent once, before the record.
import { randomUUID } from 'node:crypto';
import { type Hash, isHash } from '../../../workflows/contract/ids.ts';
import { runOnce } from '../../../system/async.ts';
import { RecentMap } from '../../../system/recent-map.ts';
import type { BlobCache } from '../blob-cache.ts';
import { decodeRecord, encodeRecord, type KeyRecord } from '../key-record.ts';
import { checkSeal, parseNonce, type SealKeys, type Sealing, sealNonce } from './record-seal.ts';
import type { Objects } from './s3-objects.ts';
import { isSealedFromStart, createStoreId, findSealing, type StoreMemory } from './sealed-since.ts';
import { parseStoreIdentity, type StoreIdentity } from '../store-folder.ts';
import {
  corruptRecord,
  corruptValue,
  hashOf,
  keyProblem,
  missingValue,
  StoreError,
  type CreateOutcome,
  type Store,
} from '../store.ts';

/** The keys that seal records; without keys they are not sealed. */
export type Seals = { readonly keys?: SealKeys | undefined; readonly memory: StoreMemory; readonly now?: () => number };

export type S3Store = Store & {
  /**
   * Reads `store.json`, or creates it. Throws StoreError for a store that this version cannot use.
   */
  identity(): Promise<StoreIdentity>;
  /** Resolves to null where records are not sealed. Throws StoreError. */
  sealing(): Promise<Sealing | null>;
};

/**
 * The most blobs that this process remembers to have written: a value that many steps share is sent
 * once.
 */
const MOST_MOMENTS = 10_000;
/**
 * Milliseconds after which a blob is written again: something that cleans the bucket by age may
 * have removed it.
 */
const KNOWN_FOR = 3_600_000;
/**
 * The most records that are kept. A record is never changed, so one that this process created or
 * found is not asked for again (W2).
 */
const RECORDS = 256;
const MOST_OF_RECORD = 256 * 1024;
/**
 * Bytes of values that a record carries: beyond them, sending values twice costs more than waiting
 * once more.
 */
const MOST_CARRIED = 64 * 1024;

/** `cache` is this machine's, so that a value that was read once is not asked for again. */
export function s3Store(objects: Objects, cache: BlobCache, seals: Seals): S3Store {
  return new BucketStore(objects, cache, seals);
}

/**
 * Each method reads the store's version first: a store of another version is neither read nor
 * written.
 */
class BucketStore implements S3Store {
  /** This and `sealing` are asked for once, unless that fails. */
  readonly identity: S3Store['identity'];
  readonly sealing: S3Store['sealing'];
  readonly #objects: Objects;
  readonly #cache: BlobCache;
  readonly #written = new RecentMap<Hash, Moment>(MOST_MOMENTS);
  readonly #records = new RecentMap<string, Uint8Array>(RECORDS);

  constructor(objects: Objects, cache: BlobCache, { keys, memory, now = Date.now }: Seals) {
    this.#objects = objects;
    this.#cache = cache;
    this.identity = runOnce(() => findIdentity(objects, keys));
    this.sealing = runOnce(async () => {
      const found = await this.identity();
      if (keys) return findSealing({ objects, keys, memory, now }, found);
      if (!isSealedFromStart(found)) return null;
      throw new StoreError(
        'unavailable',
        `the records of the store in ${objects.place('')} are sealed: name the file with its keys in PERDURE_CODEC_KEYS`,
      );
    });
  }

  async put(bytes: Uint8Array): Promise<Hash> {
    await this.identity();
    return this.#putValue(bytes);
  }

  async get(hash: Hash): Promise<Uint8Array> {
    await this.identity();
    const name = blobName(hash);
    const cached = await this.#cache.get(hash);
    if (cached) return cached;
    const bytes = await getValue(this.#objects, hash);
    if (!bytes) throw missingValue(hash, this.#objects.place(name));
    if (hashOf(bytes) !== hash) throw corruptValue(hash, this.#objects.place(name), bytes.length);
    this.#cache.put(hash, bytes);
    return bytes;
  }

  async has(hash: Hash): Promise<boolean> {
    await this.identity();
    const names = [blobName(hash), asideName(hash)];
    for (const name of names) if ((await this.#objects.writtenAt(name)) !== null) return true;
    return false;
  }

  async create(key: string, bytes: Uint8Array): Promise<CreateOutcome> {
    await this.identity();
    return this.#create(key, bytes, []);
  }

  async read(key: string): Promise<Uint8Array | null> {
    await this.identity();
    const known = this.#records.get(key);
    if (known) return known.slice();
    const record = await readRecord({ objects: this.#objects, sealing: await this.sealing() }, key);
    if (!record) return null;
    await this.#writeMissing(record.values);
    this.#remember(key, record.bytes);
    return record.bytes;
  }

  async writeStep({ key, bytes, blobs }: Parameters<Store['writeStep']>[0]): Promise<CreateOutcome> {
    await this.identity();
    return this.#create(key, bytes, blobs);
  }

  /** Creates a record and, at the same time, writes `values`. */
  async #create(key: string, record: Uint8Array, values: readonly Uint8Array[]): Promise<CreateOutcome> {
    const known = this.#records.get(key);
    if (known) return { kind: 'existing', bytes: known.slice() };
    const bytes = record.slice();
    const carried = bytesOf(values) <= MOST_CARRIED ? values : [];
    const writing = settleWrites(
      recordName(key),
      values.map((value) => this.#putValue(value)),
    );
    if (carried.length < values.length) await writing;
    const [created, written] = await Promise.allSettled([
      createRecord({ objects: this.#objects, sealing: await this.sealing() }, key, { bytes, blobs: carried }),
      writing,
    ]);
    if (created.status === 'rejected') throw created.reason;
    if (written.status === 'rejected') throw written.reason;
    const existing = created.value;
    if (existing) await this.#writeMissing(existing.values);
    this.#remember(key, existing?.bytes ?? bytes);
    return existing ? { kind: 'existing', bytes: existing.bytes } : { kind: 'created' };
  }

  async #putValue(bytes: Uint8Array): Promise<Hash> {
    const hash = hashOf(bytes);
    if (this.#wasWritten(hash)) return hash;
    const own = bytes.slice();
    const startedAt = thisMoment();
    await this.#objects.put(blobName(hash), own);
    this.#cache.put(hash, own);
    this.#written.set(hash, startedAt);
    return hash;
  }

  /**
   * Writes missing values, also those that a cleaning has set aside: a cleaning that did not see
   * the record yet may be about to remove them.
   */
  async #writeMissing(values: readonly Uint8Array[]): Promise<void> {
    const write = async (value: Uint8Array): Promise<void> => {
      const hash = hashOf(value);
      if (!this.#wasWritten(hash) && (await this.#objects.writtenAt(blobName(hash))) === null)
        await this.#putValue(value);
    };
    await Promise.all(values.map(write));
  }

  #wasWritten(hash: Hash): boolean {
    const written = this.#written.get(hash);
    return written !== undefined && isRecent(written);
  }

  #remember(key: string, bytes: Uint8Array): void {
    if (bytes.length <= MOST_OF_RECORD) this.#records.set(key, bytes.slice());
  }
}

/** A time by both clocks: one can be set back, the other stands still while the machine sleeps. */
type Moment = { readonly at: number; readonly tick: number };

function thisMoment(): Moment {
  return { at: Date.now(), tick: performance.now() };
}

function isRecent({ at, tick }: Moment): boolean {
  const age = Date.now() - at;
  return age >= 0 && age < KNOWN_FOR && performance.now() - tick < KNOWN_FOR;
}

/** Throws RangeError for a text that is not a hash: it may come from outside. */
export function blobName(hash: Hash): string {
  if (!isHash(hash)) throw new RangeError(`"${String(hash).slice(0, 80)}" is not a hash of a stored value`);
  return `blobs/${hash}`;
}

/** Returns where a cleaning puts a value aside. */
export function asideName(hash: Hash): string {
  return `aside/${hash}`;
}

/**
 * Reads a value, which a cleaning may move from one place to the other, and back, at any moment.
 */
export async function getValue(objects: Objects, hash: Hash): Promise<Uint8Array | null> {
  const name = blobName(hash);
  return (await objects.get(name)) ?? (await objects.get(asideName(hash))) ?? (await objects.get(name));
}

export function recordName(key: string): string {
  const problem = keyProblem(key);
  if (problem !== undefined) throw new RangeError(problem);
  return `keys/${key}`;
}

/** `values` are those that the record carries. */
type FoundRecord = { readonly bytes: Uint8Array; readonly nonce: string; readonly values: readonly Uint8Array[] };

/** Without a sealing records are read as they are. */
export type Records = { readonly objects: Objects; readonly sealing: Sealing | null };

/** Throws StoreError for a record that is damaged, or was written without a key. */
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
 * Creates a record, or returns the one that exists. A create whose answer was lost is sent again by
 * the SDK and then finds itself: the nonce in the record says whose it is.
 */
async function createRecord(records: Records, key: string, record: KeyRecord): Promise<FoundRecord | null> {
  const { objects, sealing } = records;
  const name = recordName(key);
  const nonce = randomUUID();
  const first = Buffer.from(sealNonce(sealing, key, nonce, record));
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
  if (there) return parseStoreIdentity(objects.place(''), place, there);
  const own: StoreIdentity = { version: 1, id: createStoreId(keys) };
  if (await objects.putNew(IDENTITY, Buffer.from(`${JSON.stringify(own)}\n`))) return own;
  const bytes = await objects.get(IDENTITY);
  if (!bytes) throw new StoreError('unavailable', `${place} vanished while it was read: try again`);
  return parseStoreIdentity(objects.place(''), place, bytes);
}

function bytesOf(values: readonly Uint8Array[]): number {
  return values.reduce((sum, { length }) => sum + length, 0);
}

/** Resolves when all values are written; when it rejects, no write is still under way. */
async function settleWrites(step: string, writing: readonly Promise<Hash>[]): Promise<void> {
  for (const value of await Promise.allSettled(writing)) {
    if (value.status === 'rejected') throw nameStep(step, value.reason);
  }
}

function nameStep(name: string, reason: unknown): unknown {
  if (!(reason instanceof StoreError)) return reason;
  return new StoreError(reason.problem, `${reason.message} (while ${name} was written)`, { cause: reason });
}
