// The store in a folder, the default on one machine. Several processes may use one folder at once.
import { runOnce } from '../../system/async.ts';
import type { Hash } from '../../workflows/contract/ids.ts';
import { encodeRecord, type KeyRecord } from './key-record.ts';
import { createFileReads, type FileLayout, fileLayout, type FileReads } from './file-reads.ts';
import { type Files, nodeFiles } from './file-io.ts';
import { createFileWrites, type FileWrites, createFolders } from './file-writes.ts';
import { storeIdentity } from './store-folder.ts';
import { hashOf, corruptRecord, isErrno, toStoreError, type CreateOutcome, type Store } from './store.ts';

type FileStoreOptions = {
  readonly dir: string;
  /** The file system, for tests. */
  readonly files?: Files;
};

/** Milliseconds after which a temp file counts as abandoned. */
const STALE = 24 * 3_600_000;

export function fileStore({ dir, files = nodeFiles }: FileStoreOptions): Store {
  const parts = createParts(fileLayout(dir), files);
  const { layout, reads } = parts;
  const open = runOnce(() => openFolder(files, layout));

  const guarded = async <T>(path: string, write: () => Promise<T>): Promise<T> => {
    try {
      await open();
      return await write();
    } catch (error) {
      throw toStoreError('write to the store', path, error);
    }
  };
  const step = async (key: string, bytes: Uint8Array, blobs: readonly Uint8Array[]): Promise<CreateOutcome> => {
    const path = layout.record(key);
    return guarded(path, async () =>
      !files.exists(path) && (await writeRecord(parts, key, { bytes, blobs }))
        ? { kind: 'created' }
        : readExisting(parts, key),
    );
  };

  return {
    put: (bytes) => {
      const hash = hashOf(bytes);
      return guarded(layout.blob(hash), async () => (await writeBlob(parts, hash, bytes), hash));
    },
    create: (key, bytes) => step(key, bytes, []),
    writeStep: ({ key, bytes, blobs }) => step(key, bytes, blobs),
    get: async (hash) => (await open(), reads.blob(hash)),
    has: async (hash) => reads.has(hash),
    read: async (key) => {
      await open();
      const record = reads.record(key);
      if (!record) return null;
      await guarded(layout.record(key), () => nameBlobs(parts, key, record));
      return record.bytes;
    },
  };
}

type Parts = {
  readonly files: Files;
  readonly layout: FileLayout;
  readonly reads: FileReads;
  readonly writes: FileWrites;
};

function createParts(layout: FileLayout, files: Files): Parts {
  const writes = createFileWrites(files, createFolders(files, layout.dir), layout.temp);
  return { files, layout, reads: createFileReads(files, layout), writes };
}

/**
 * Writes a value. One that exists and is whole needs no second file, but its name may not be
 * durable yet, and it must become as old as a new one, because it may have lain there unnamed until
 * a cleaning (W4). A damaged one is replaced.
 */
async function writeBlob(parts: Parts, hash: Hash, bytes: Uint8Array): Promise<void> {
  const { files, layout, reads, writes } = parts;
  const path = layout.blob(hash);
  if ((await reads.whole(hash)) && files.renew(path)) return writes.flushNames([path]);
  await writes.write([path], bytes, (temp) => nameValues(parts, temp, [hash]));
}

/** Resolves to false when the key is taken. */
async function writeRecord(parts: Parts, key: string, record: KeyRecord): Promise<boolean> {
  const { layout, writes } = parts;
  const path = layout.record(key);
  const hashes = record.blobs.map(hashOf);
  return writes.write(
    [path, ...hashes.map(layout.blob)],
    encodeRecord(key, record),
    async (temp) => writes.link(temp, path) && nameValues(parts, temp, hashes),
  );
}

async function readExisting(parts: Parts, key: string): Promise<CreateOutcome> {
  const { layout, reads, writes } = parts;
  const path = layout.record(key);
  // Its creator may not have flushed its name yet.
  await writes.flushNames([path]);
  const record = reads.record(key);
  if (!record) throw corruptRecord(key, path, 'vanished while it was read');
  await nameBlobs(parts, key, record);
  return { kind: 'existing', bytes: record.bytes };
}

/**
 * Gives a record's values their names: its creator may have died before it did, or before they were
 * flushed.
 */
async function nameBlobs(parts: Parts, key: string, { blobs }: KeyRecord): Promise<void> {
  if (blobs.length === 0) return;
  const { layout, writes } = parts;
  const hashes = blobs.map(hashOf);
  await nameValues(parts, layout.record(key), hashes);
  await writes.flushNames(hashes.map(layout.blob));
}

/**
 * Gives `from`, which holds the values of all `hashes`, their names, and takes over a name that
 * stands for a damaged file.
 */
async function nameValues(
  { files, layout, reads, writes }: Parts,
  from: string,
  hashes: readonly Hash[],
): Promise<true> {
  for (const hash of hashes) {
    const path = layout.blob(hash);
    if (!writes.link(from, path) && !((await reads.whole(hash)) && files.renew(path))) writes.replace(from, path);
  }
  return true;
}

async function openFolder(files: Files, layout: FileLayout): Promise<void> {
  await storeIdentity(layout.dir, files);
  for (const { name, age } of files.ages(layout.temp)) {
    if (age > STALE) removeStale(files, `${layout.temp}/${name}`);
  }
}

/**
 * Tries to remove a stale file: another process may be removing it too, and a folder that cannot be
 * cleaned can still be read.
 */
function removeStale(files: Files, path: string): void {
  try {
    files.unlink(path);
  } catch (error) {
    if (!isErrno(error)) throw error;
  }
}
