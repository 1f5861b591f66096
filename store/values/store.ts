// The one port to durable bytes. Values are content-addressed and immutable; keys are written once.
// It has no list, no delete and no mutable value, because nothing in the product needs one.
import { createHash } from 'node:crypto';
import { hasNoInodes } from '../../system/full-disk.ts';
import type { Hash } from '../../workflows/contract/ids.ts';

export type CreateOutcome =
  | { readonly kind: 'created' }
  /** Another writer was first: `bytes` is what it wrote, and stays. */
  | { readonly kind: 'existing'; readonly bytes: Uint8Array };

export type Store = {
  /**
   * Stores bytes, durably when it resolves. The same bytes give the same hash, and writing them
   * again is harmless.
   */
  put(bytes: Uint8Array): Promise<Hash>;
  /** Returns the bytes, checked against their hash. Throws StoreError `missing` or `corrupt`. */
  get(hash: Hash): Promise<Uint8Array>;
  /** Tells whether something is stored under a hash; only `get` says whether it is whole. */
  has(hash: Hash): Promise<boolean>;
  /**
   * Creates `key` (segments of [A-Za-z0-9._-], joined by `/`; a key is never a folder of another)
   * on the condition that it is new: of all who try, one creates. Durable when it resolves.
   */
  create(key: string, bytes: Uint8Array): Promise<CreateOutcome>;
  /**
   * Reads the value created under `key`, or null. Throws StoreError `corrupt` when the record is
   * damaged.
   */
  read(key: string): Promise<Uint8Array | null>;
  /**
   * Writes the products of one step together, which is cheaper than `put` then `create`. A reader
   * that finds `key` can always get `blobs`.
   */
  writeStep(step: StepWrite): Promise<CreateOutcome>;
};

/**
 * When `key` exists already, the answer is `existing`, and `blobs` may not have been written: those
 * of the first step were.
 */
export type StepWrite = {
  readonly key: string;
  readonly bytes: Uint8Array;
  readonly blobs: readonly Uint8Array[];
};

/** `newer`: the value is whole, and a newer Perdure wrote it. */
export type StoreProblem = 'missing' | 'corrupt' | 'newer' | 'unavailable';

/**
 * The error of a store. Its message is a sentence for people: which value, what is wrong with it,
 * where it is.
 */
export class StoreError extends Error {
  override readonly name = 'StoreError';
  readonly problem: StoreProblem;
  constructor(problem: StoreProblem, message: string, options?: ErrorOptions) {
    super(message, options);
    this.problem = problem;
  }
}

/** Tells whether an error means a value that no retry and no other worker will find whole. */
export function isDamage(error: unknown): error is StoreError {
  return error instanceof StoreError && (error.problem === 'missing' || error.problem === 'corrupt');
}

/** Advice by the code of a file system's error. */
const ADVICE: Readonly<Record<string, string>> = {
  ENOSPC: 'no space is left on the disk: free some, work goes on by itself',
  EDQUOT: 'the disk quota is used up: free some space, work goes on by itself',
  EIO: 'the disk reports an input/output error: check it, and restore the store from a backup if it is failing',
  EROFS: 'the file system is read-only: mount it writable again (a disk error may have made it so)',
  EMFILE: 'this process has too many files open: raise its limit (ulimit -n)',
  ENFILE: 'this machine has too many files open: raise its limit (fs.file-max)',
  EACCES: 'permission is denied: give this user read and write access to the folder',
  EPERM: 'the operation is not permitted: give this user read and write access to the folder',
  ENOENT: 'the folder is gone: something removed it while the store was in use',
};

const NO_FILES = 'the disk holds as many files as it can (`df -i`): remove some, work goes on by itself';

export function isErrno(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && typeof (error as NodeJS.ErrnoException).code === 'string';
}

/** Turns an error of the file system into a StoreError; throws any other error as it is. */
export function toStoreError(doing: string, path: string, error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  if (!isErrno(error)) throw error;
  const code = error.code ?? '';
  const advice = code === 'ENOSPC' && hasNoInodes(path) ? NO_FILES : (ADVICE[code] ?? error.message);
  return new StoreError('unavailable', `cannot ${doing} (${path}): ${advice} (${code})`, {
    cause: error,
  });
}

const RESTORE = 'restore it from a backup, or see what going on without it means: `perdure repair ID`';

export function missingValue(hash: Hash, place: string): StoreError {
  return new StoreError('missing', `stored value ${hash} is missing (${place}): ${RESTORE}`);
}

export function corruptValue(hash: Hash, place: string, bytes: number): StoreError {
  const what = `stored value ${hash} does not match its hash (${place}, ${bytes} bytes)`;
  return new StoreError('corrupt', `${what}: it was damaged after it was written, ${RESTORE}`);
}

export function corruptRecord(key: string, place: string, problem: string): StoreError {
  return new StoreError(
    'corrupt',
    `the record "${key}" ${problem} (${place}): it was damaged after it was written, restore it from a backup`,
  );
}

/** Returns the SHA-256 that names a value. */
export function hashOf(bytes: Uint8Array): Hash {
  return createHash('sha256').update(bytes).digest('hex') as Hash;
}

const KEY_SEGMENT = /^[A-Za-z0-9._-]{1,200}$/;
const HASHED_SEGMENT = /^x-[0-9a-f]{64}$/;

/** Returns why `key` will not do, or undefined. */
export function keyProblem(key: string): string | undefined {
  const bad = key.split('/').find((part) => !KEY_SEGMENT.test(part) || part === '.' || part === '..');
  if (bad === undefined) return undefined;
  return `the key "${key.slice(0, 300)}" has a segment "${bad.slice(0, 220)}": use 1 to 200 of [A-Za-z0-9._-], neither "." nor ".."`;
}

/**
 * Returns `id` as one key segment or folder name: itself where it can be, else `x-` and a hash of
 * it. Different ids stay different.
 */
export function keySegment(id: string): string {
  const plain = keyProblem(id) === undefined && !id.includes('/') && !HASHED_SEGMENT.test(id);
  return plain ? id : `x-${hashOf(Buffer.from(id))}`;
}

/** Returns undefined when the bytes are not JSON. */
export function parseStored(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8'));
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/**
 * Returns the sign that a newer Perdure wrote a value; undefined for the version that is read here,
 * and for values without a version.
 */
export function findNewerVersion(value: unknown): string | undefined {
  const v = (value as { readonly v?: unknown } | null | undefined)?.v;
  return Number.isSafeInteger(v) && (v as number) > 1 ? `version ${String(v)}, this one reads 1` : undefined;
}

/** `sign` is what shows that the value is newer. */
export function newerValue(what: string, sign: string): StoreError {
  return new StoreError(
    'newer',
    `${what} was written by a newer Perdure (${sign}): update this one, or leave it to workers of that version`,
  );
}

// The port for cleaning a store, apart from the one that sessions use: it lists what lies there and
// removes it. A value that a session could still name is never removed at once: it is first set
// aside, where readers still find it, and removed when no session has named it for the grace period
// (W4).
export type StoredObject = {
  /** `aside`: a value that an earlier cleaning has set aside. */
  readonly kind: 'value' | 'aside' | 'record';
  /** The hash of a value, or the key of a record. */
  readonly name: string;
  readonly bytes: number;
  /**
   * Milliseconds since the epoch, by the clock of the store: when it was last written, renewed or
   * set aside.
   */
  readonly at: number;
  /** Present when other names have the same bytes: removing the last of them frees these. */
  readonly shared?: { readonly file: string; readonly names: number };
};

export type RecordContents = {
  readonly bytes: Uint8Array;
  /** Values that the record carries, perhaps their only copies. */
  readonly values: readonly Uint8Array[];
};

/** Every method throws StoreError. */
export type StoreCare = {
  /** Lists objects in no particular order, as they are read: the list is never held as a whole. */
  list(kind: StoredObject['kind']): AsyncIterable<StoredObject>;
  /** Reads a value as `Store.get` does, past this machine's cache; null when it is missing. */
  value(hash: Hash): Promise<Uint8Array | null>;
  /** Resolves to null when the record is gone. */
  record(key: string): Promise<RecordContents | null>;
  /**
   * Sets a value aside: from here on it is kept for its readers alone. Resolves to false when it
   * was renewed after `olderThan`, or has gone.
   */
  setAside(hash: Hash, olderThan: number): Promise<boolean>;
  /** Undoes `setAside`. */
  putBack(hash: Hash): Promise<void>;
  /**
   * Removes an object for good. Resolves to false when it was renewed after `olderThan`, or has
   * gone.
   */
  remove(object: StoredObject, olderThan: number): Promise<boolean>;
};
