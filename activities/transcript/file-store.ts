// The store in a folder: the default on one machine. Several processes may use one folder at once.
import { dirname } from 'node:path';
import type { Hash } from '../../workflows/contract/ids.ts';
import { type FileLayout, fileLayout } from './file-layout.ts';
import { createFileReads, type FileReads } from './file-reads.ts';
import { createFileWrites, type FileWrites, type Staged } from './file-writes.ts';
import { type Files, nodeFiles } from './files.ts';
import { createFolders } from './folders.ts';
import { hashOf } from './hash.ts';
import { encodeRecord } from './key-record.ts';
import { settle } from './settle.ts';
import { corruptRecord, isErrno, unavailable } from './store-errors.ts';
import { storeIdentity } from './store-identity.ts';
import type { Created, Store } from './store.ts';

export type FileStoreOptions = {
  readonly dir: string;
  /** The file system, for tests. */
  readonly files?: Files;
};

/** A temp file of this age (milliseconds) belongs to nobody. */
const STALE = 24 * 3_600_000;

export function fileStore({ dir, files = nodeFiles }: FileStoreOptions): Store {
  const parts = partsOf(fileLayout(dir), files);
  const { layout, reads } = parts;
  const open = remembered(() => openFolder(files, layout));

  const guarded = async <T>(path: string, write: () => Promise<T>): Promise<T> => {
    try {
      await open();
      return await write();
    } catch (error) {
      throw unavailable('write to the store', path, error);
    }
  };
  const step = async (key: string, bytes: Uint8Array, blobs: readonly Uint8Array[]): Promise<Created> => {
    const path = layout.record(key);
    return guarded(path, async () =>
      files.exists(path)
        ? existing(parts, key)
        : finish(
            blobs.map((blob) => stageBlob(parts, hashOf(blob), blob)),
            stageRecord(parts, key, bytes),
          ),
    );
  };

  return {
    put: (bytes) => {
      const hash = hashOf(bytes);
      return guarded(layout.blob(hash), async () => (await finish([], stageBlob(parts, hash, bytes)), hash));
    },
    create: (key, bytes) => step(key, bytes, []),
    writeStep: ({ key, bytes, blobs }) => step(key, bytes, blobs),
    get: async (hash) => (await open(), reads.blob(hash)),
    has: async (hash) => files.exists(layout.blob(hash)),
    read: async (key) => (await open(), reads.record(key)),
  };
}

type Parts = {
  readonly files: Files;
  readonly layout: FileLayout;
  readonly reads: FileReads;
  readonly writes: FileWrites;
};

function partsOf(layout: FileLayout, files: Files): Parts {
  const writes = createFileWrites(files, createFolders(files, layout.dir), layout.temp);
  return { files, layout, reads: createFileReads(files, layout), writes };
}

/** A value that is there and whole needs no second file, but its name may not be durable yet. A damaged one is replaced. */
async function stageBlob(
  { files, layout, reads, writes }: Parts,
  hash: Hash,
  bytes: Uint8Array,
): Promise<Staged<void>> {
  const path = layout.blob(hash);
  if (!(await reads.whole(hash))) return writes.stageBlob(path, bytes);
  return { place: () => files.flushFolder(dirname(path)), discard: () => undefined };
}

async function stageRecord(parts: Parts, key: string, bytes: Uint8Array): Promise<Staged<Created>> {
  const staged = await parts.writes.stageRecord(parts.layout.record(key), encodeRecord(key, bytes));
  const place = async (): Promise<Created> => ((await staged.place()) ? { kind: 'created' } : existing(parts, key));
  return { ...staged, place };
}

async function existing({ files, layout, reads }: Parts, key: string): Promise<Created> {
  const path = layout.record(key);
  // Whoever created it may not have flushed its name yet.
  await files.flushFolder(dirname(path));
  const bytes = await reads.record(key);
  if (!bytes) throw corruptRecord(key, path, 'vanished while it was read');
  return { kind: 'existing', bytes };
}

/** All are flushed side by side; `last` gets its name when every one of `first` has its own, durably. */
async function finish<T>(first: readonly Promise<Staged<void>>[], last: Promise<Staged<T>>): Promise<T> {
  const settled = await Promise.allSettled([...first, last]);
  const staged = settled.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  try {
    await settle<unknown>([...first, last]);
    await settle(first.map(async (blob) => (await blob).place()));
    return await (await last).place();
  } finally {
    for (const each of staged) each.discard();
  }
}

/** Runs once; a failure is not remembered. */
function remembered(run: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => {
    done ??= run().catch((error: unknown) => {
      done = undefined;
      throw error;
    });
    return done;
  };
}

async function openFolder(files: Files, layout: FileLayout): Promise<void> {
  await storeIdentity(layout.dir, files);
  for (const { name, age } of files.ages(layout.temp)) {
    if (age > STALE) removeStale(files, `${layout.temp}/${name}`);
  }
}

/** Another process may be removing it too, and a folder that cannot be cleaned can still be read. */
function removeStale(files: Files, path: string): void {
  try {
    files.unlink(path);
  } catch (error) {
    if (!isErrno(error)) throw error;
  }
}
