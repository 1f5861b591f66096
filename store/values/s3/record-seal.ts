// Seals the records of a shared store: a stranger who can write there, and has no key, cannot
// change what a worker reads of them and acts on (W1). Values need no seal: they are named by their
// hashes, and every hash comes from a sealed payload or from a record.
import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import type { KeyRecord } from '../key-record.ts';
import { corruptRecord, StoreError } from '../store.ts';

type SealKey = { readonly id: string; readonly key: Uint8Array };

/** The active key seals; all keys open. */
export type SealKeys = {
  /** The file that the keys come from, for messages. */
  readonly path: string;
  readonly active: () => SealKey;
  readonly find: (id: string) => SealKey | undefined;
};

const SEAL = /^([0-9a-f]{8}) ([0-9a-f]{64})$/;

/** Computes the seal of `what`, which begins with the place that the seal is for. */
export function computeSeal({ id, key }: SealKey, what: readonly (string | Uint8Array)[]): string {
  // Derives a key of its own, so that the key of payloads seals nothing else.
  const own = Buffer.from(hkdfSync('sha256', key, '', 'perdure store records', 32));
  const sum = createHmac('sha256', own);
  for (const part of what) {
    const bytes = typeof part === 'string' ? Buffer.from(part) : part;
    sum.update(`${bytes.length}\n`).update(bytes);
  }
  return `${id} ${sum.digest('hex')}`;
}

/** Returns null when the seal is right. `unknown` means that its key is missing. */
export function sealProblem(
  keys: SealKeys,
  seal: string,
  what: readonly (string | Uint8Array)[],
): { readonly kind: 'forged' | 'unknown'; readonly id: string } | null {
  const [, id = '?'] = SEAL.exec(seal) ?? [];
  const key = id === '?' ? undefined : keys.find(id);
  if (!key) return { kind: id === '?' ? 'forged' : 'unknown', id };
  const right = Buffer.from(computeSeal(key, what));
  return right.length === seal.length && timingSafeEqual(right, Buffer.from(seal)) ? null : { kind: 'forged', id };
}

/**
 * The nonce of a record, and the seal behind it. Earlier releases read both as one text and compare
 * it with their own.
 */
type Nonce = { readonly nonce: string; readonly seal: string | null };

export function parseNonce(text: string): Nonce {
  const [nonce = '', seal] = text.split('\n', 2);
  return { nonce, seal: seal ?? null };
}

/**
 * Returns the parts that a seal covers. The store's id is one, because a record of another store
 * may have the same name.
 */
function sealParts(store: string, key: string, nonce: string, { bytes, blobs }: KeyRecord): (string | Uint8Array)[] {
  return ['perdure-record', store, key, nonce, bytes, ...blobs];
}

export type Sealing = {
  readonly keys: SealKeys;
  readonly store: string;
  /**
   * Milliseconds since the epoch, by the clock of the store: records that were written before may
   * be without a seal.
   */
  readonly until: number;
};

/** Returns `nonce`, and with keys the seal of the record behind it. */
export function sealNonce(sealing: Sealing | null, key: string, nonce: string, record: KeyRecord): string {
  if (!sealing) return nonce;
  return `${nonce}\n${computeSeal(sealing.keys.active(), sealParts(sealing.store, key, nonce, record))}`;
}

type RecordToCheck = { readonly key: string; readonly place: string; readonly record: KeyRecord; readonly at: number };

/** Throws StoreError for a record that was written there without a key. */
export function checkSeal({ keys, store, until }: Sealing, { nonce, seal }: Nonce, found: RecordToCheck): void {
  const { key, place, record, at } = found;
  if (seal === null) {
    if (at < until) return;
    throw corruptRecord(key, place, `is not sealed, as those of this store are since ${new Date(until).toISOString()}`);
  }
  const problem = sealProblem(keys, seal, sealParts(store, key, nonce, record));
  if (problem?.kind === 'forged')
    throw corruptRecord(key, place, `was not sealed for this place with a key of ${keys.path}`);
  if (problem) throw unknownKey(`the record "${key}" (${place})`, problem.id, keys);
}

export function unknownKey(what: string, id: string, { path }: SealKeys): StoreError {
  return new StoreError('unavailable', `${what} is sealed with key ${id}, which is not in ${path}: add it there`);
}
