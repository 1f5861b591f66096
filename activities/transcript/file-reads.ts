// Reading from a store folder: everything is checked, so that damage is an error and never an answer.
import type { Hash } from '../../workflows/contract/ids.ts';
import type { FileLayout } from './file-layout.ts';
import type { Files } from './files.ts';
import { hashOf } from './hash.ts';
import { decodeRecord } from './key-record.ts';
import { createLimit } from './limit.ts';
import { corruptRecord, corruptValue, isErrno, missingValue, unavailable } from './store-errors.ts';

export type FileReads = {
  /** Throws StoreError. */
  blob(hash: Hash): Promise<Uint8Array>;
  /** Whether what is under the hash is there and whole. */
  whole(hash: Hash): Promise<boolean>;
  record(key: string): Promise<Uint8Array | null>;
};

/** Reads at once: keeps a cold read of a long session below the limit on open files. */
const AT_ONCE = 64;

export function createFileReads(files: Files, layout: FileLayout): FileReads {
  const limit = createLimit(AT_ONCE);

  const readFile = async (path: string): Promise<Uint8Array | null> => {
    try {
      return await limit(() => files.read(path));
    } catch (error) {
      if (isErrno(error) && error.code === 'ENOENT') return null;
      throw unavailable('read from the store', path, error);
    }
  };

  return {
    blob: async (hash) => {
      const path = layout.blob(hash);
      const bytes = await readFile(path);
      if (!bytes) throw missingValue(hash, path);
      if (hashOf(bytes) !== hash) throw corruptValue(hash, path, bytes.length);
      return bytes;
    },
    whole: async (hash) => {
      const path = layout.blob(hash);
      if (!files.exists(path)) return false;
      const bytes = await readFile(path);
      return bytes !== null && hashOf(bytes) === hash;
    },
    record: async (key) => {
      const path = layout.record(key);
      const file = await readFile(path);
      if (!file) return null;
      const record = decodeRecord(key, file);
      if ('problem' in record) throw corruptRecord(key, path, record.problem);
      return record.bytes;
    },
  };
}
