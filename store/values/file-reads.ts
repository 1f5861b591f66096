// Reads from a store folder. Everything is checked, so that damage is an error and never an answer.
// Where things lie in a store folder: store.json · blobs/<1 hex>/<hash> · keys/<key> · aside/<hash>
// · tmp/
import { resolve } from 'node:path';
import { createLimit } from '../../system/async.ts';
import { type Hash, isHash } from '../../workflows/contract/ids.ts';
import type { Files } from './file-io.ts';
import { decodeRecord, findValue, type KeyRecord } from './key-record.ts';
import { requireStore } from './store-folder.ts';
import { corruptRecord, corruptValue, isErrno, keyProblem, missingValue, toStoreError } from './store.ts';

export type FileReads = {
  /** Throws StoreError. */
  blob(hash: Hash): Promise<Uint8Array>;
  /** Tells whether a value of this hash exists. Throws StoreError. */
  has(hash: Hash): boolean;
  /** Tells whether the value of a hash exists and is whole. */
  whole(hash: Hash): Promise<boolean>;
  /** Returns null when the record is missing. Throws StoreError. */
  record(key: string): KeyRecord | null;
};

/**
 * The most reads at once, which keeps a cold read of a long session below the limit on open files.
 */
const AT_ONCE = 64;

export function createFileReads(files: Files, layout: FileLayout): FileReads {
  const limit = createLimit(AT_ONCE);

  const readBlob = async (path: string): Promise<Uint8Array | null> => {
    try {
      return await limit(() => files.read(path));
    } catch (error) {
      return nullIfMissing(path, error);
    }
  };
  /** A value that seems missing may be in a folder that was moved away. */
  const requireThere = (): void => requireStore(layout.dir, files);
  const readRecord = (path: string): Uint8Array | null => {
    try {
      return files.exists(path) ? files.readNow(path) : null;
    } catch (error) {
      return nullIfMissing(path, error);
    }
  };

  return {
    blob: async (hash) => {
      const path = layout.blob(hash);
      // A cleaning may move the value from one place to the other, and back, at any moment.
      const file = (await readBlob(path)) ?? (await readBlob(layout.asideBlob(hash))) ?? (await readBlob(path));
      if (!file) {
        requireThere();
        throw missingValue(hash, path);
      }
      const value = findValue(file, hash);
      if (!value) throw corruptValue(hash, path, file.length);
      return value;
    },
    has: (hash) => {
      if (files.exists(layout.blob(hash)) || files.exists(layout.asideBlob(hash))) return true;
      requireThere();
      return false;
    },
    whole: async (hash) => {
      const path = layout.blob(hash);
      if (!files.exists(path)) return false;
      const file = await readBlob(path);
      return file !== null && findValue(file, hash) !== null;
    },
    record: (key) => {
      const path = layout.record(key);
      const file = readRecord(path);
      if (!file) {
        requireThere();
        return null;
      }
      const record = decodeRecord(key, file);
      if ('problem' in record) throw corruptRecord(key, path, record.problem);
      return record;
    },
  };
}

function nullIfMissing(path: string, error: unknown): null {
  if (isErrno(error) && error.code === 'ENOENT') return null;
  throw toStoreError('read from the store', path, error);
}

export type FileLayout = {
  readonly dir: string;
  readonly temp: string;
  /**
   * Throws RangeError for a text that is not a hash or key: it may come from outside, and must not
   * name a path elsewhere.
   */
  blob(hash: Hash): string;
  /** The folder of values that a cleaning has set aside; readers look there too. */
  readonly aside: string;
  asideBlob(hash: Hash): string;
  record(key: string): string;
};

export function fileLayout(folder: string): FileLayout {
  const dir = resolve(folder);
  const asideDir = `${dir}/aside`;
  return {
    dir,
    temp: `${dir}/tmp`,
    aside: asideDir,
    blob: (hash) => `${dir}/blobs/${requireHash(hash).slice(0, 1)}/${hash}`,
    asideBlob: (hash) => `${asideDir}/${requireHash(hash)}`,
    record: (key) => {
      const problem = keyProblem(key);
      if (problem !== undefined) throw new RangeError(problem);
      return `${dir}/keys/${key}`;
    },
  };
}

function requireHash(hash: Hash): Hash {
  if (!isHash(hash)) throw new RangeError(`"${String(hash).slice(0, 80)}" is not a hash of a stored value`);
  return hash;
}
