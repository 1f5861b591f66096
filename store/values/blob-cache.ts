// Keeps values of a remote store on this machine, so that what was written or read once is not
// requested again (W2). Each value is a file, named by its hash and checked against it on every
// read; the least recently used go when they have too many bytes. It is never the only copy.
import { randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Hash, isHash } from '../../workflows/contract/ids.ts';
import { hashOf, isErrno } from './store.ts';

export type BlobCache = {
  /** Resolves to null when the value is not here, or is no longer whole. */
  get(hash: Hash): Promise<Uint8Array | null>;
  put(hash: Hash, bytes: Uint8Array): void;
};

const MAX_BYTES = 512 * 1024 * 1024;

/**
 * Opens a cache. Several processes may share `dir`. A disk that is full or read-only makes it
 * slower, and does no other harm.
 */
export function blobCache(dir: string, maxBytes = MAX_BYTES): BlobCache {
  const files = bestEffort(() => listFiles(dir), new Map<Hash, number>());
  let total = [...files.values()].reduce((sum, size) => sum + size, 0);

  const forget = (hash: Hash): void => {
    total -= files.get(hash) ?? 0;
    files.delete(hash);
  };
  const use = (hash: Hash, size: number): void => {
    forget(hash);
    files.set(hash, size);
    total += size;
  };
  const shrink = (): void => {
    for (const hash of files.keys()) {
      if (total <= maxBytes) return;
      forget(hash);
      rmSync(join(dir, hash), { force: true });
    }
  };

  return {
    get: async (hash) => {
      const path = join(dir, hash);
      const bytes = await readFile(path).catch(nullUnlessDefect);
      if (bytes !== null && hashOf(bytes) === hash) {
        use(hash, bytes.length);
        return bytes;
      }
      forget(hash);
      if (bytes !== null) bestEffort(() => rmSync(path, { force: true }), undefined);
      return null;
    },
    put: (hash, bytes) => {
      if (bytes.length > maxBytes / 4 || files.has(hash)) return;
      bestEffort(() => {
        writeWhole(dir, hash, bytes);
        use(hash, bytes.length);
        shrink();
      }, undefined);
    },
  };
}

/**
 * Lists the values, oldest first. Files of another version, or of a process that died, are not ours
 * to count.
 */
function listFiles(dir: string): Map<Hash, number> {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const found = readdirSync(dir).flatMap((name) => {
    const stat = isHash(name) ? statSync(join(dir, name), { throwIfNoEntry: false }) : undefined;
    return stat ? [{ hash: name as Hash, size: stat.size, time: stat.mtimeMs }] : [];
  });
  return new Map(found.toSorted((one, other) => one.time - other.time).map(({ hash, size }) => [hash, size]));
}

/** Writes a file that is whole under its name: another process may read it at any moment. */
function writeWhole(dir: string, hash: Hash, bytes: Uint8Array): void {
  const temp = join(dir, `tmp-${randomUUID()}`);
  try {
    writeFileSync(temp, bytes, { mode: 0o600 });
    renameSync(temp, join(dir, hash));
  } catch (error) {
    rmSync(temp, { force: true });
    throw error;
  }
}

function bestEffort<T>(work: () => T, otherwise: T): T {
  try {
    return work();
  } catch (error) {
    if (!isErrno(error)) throw error;
    return otherwise;
  }
}

function nullUnlessDefect(error: unknown): null {
  if (!isErrno(error)) throw error;
  return null;
}
