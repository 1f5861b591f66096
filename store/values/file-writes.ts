// How bytes reach the disk, with two waits whatever is written. Invariants:
// 1. A file gets a name only after its bytes are flushed: a file found under a name was whole when
//   it was written.
// 2. A write is acknowledged only after the folders with its names are flushed.
// 3. A step is one file under the names of its record and of its values: a record is never without
//   their bytes, whichever names a power cut spares. A reader that finds the record sees to the
//   other names before it answers.
import { randomUUID } from 'node:crypto';
import { dirname } from 'node:path';
import { isErrno } from './store.ts';
import type { Files } from './file-io.ts';

/**
 * Works like Promise.all, but leaves nothing under way when it rejects: a descriptor must not be
 * closed under a running fsync.
 */
async function settleAll<T>(work: readonly Promise<T>[]): Promise<T[]> {
  const results = await Promise.allSettled(work);
  return results.map((result) => {
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  });
}

export type FileWrites = {
  /**
   * Flushes `bytes`; `name` then gives the temp file names among `paths`, which are durable when
   * this resolves to true.
   */
  write(
    paths: readonly string[],
    bytes: Uint8Array,
    name: (temp: string) => Promise<boolean> | boolean,
  ): Promise<boolean>;
  /** Makes the names in the folders of `paths` durable. */
  flushNames(paths: readonly string[]): Promise<void>;
  /** Gives `from` the name `path`; returns false when it is taken. */
  link(from: string, path: string): boolean;
  /** Gives `from` the name `path`, also when it is taken. */
  replace(from: string, path: string): void;
};

export function createFileWrites(files: Files, folders: Folders, tempFolder: string): FileWrites {
  const newTemp = (): string => `${tempFolder}/${process.pid}-${randomUUID()}`;

  const stage = async (temp: string, bytes: Uint8Array, inFolders: readonly string[]): Promise<void> => {
    const descriptor = await files.write(temp, bytes);
    try {
      await settleAll([files.flush(descriptor), ...inFolders.map((folder) => folders.ensure(folder))]);
    } finally {
      files.close(descriptor);
    }
  };

  const flushNames = async (paths: readonly string[]): Promise<void> => {
    await settleAll(foldersOf(paths).map((folder) => files.flushFolder(folder)));
  };

  return {
    write: async (paths, bytes, name) => {
      const temp = newTemp();
      try {
        await stage(temp, bytes, foldersOf(paths));
        if (!(await name(temp))) return false;
        await flushNames(paths);
        return true;
      } finally {
        removeTemp(files, temp);
      }
    },
    flushNames,
    link: (from, path) => tryLink(files, from, path),
    replace: (from, path) => {
      const temp = newTemp();
      files.link(from, temp);
      try {
        files.rename(temp, path);
      } catch (error) {
        removeTemp(files, temp);
        throw error;
      }
    },
  };
}

function foldersOf(paths: readonly string[]): string[] {
  return [...new Set(paths.map((path) => dirname(path)))];
}

function tryLink(files: Files, from: string, to: string): boolean {
  try {
    files.link(from, to);
    return true;
  } catch (error) {
    if (isErrno(error) && error.code === 'EEXIST') return false;
    throw error;
  }
}

/** Tries to remove a temp file; one that is left is removed when it is a day old. */
function removeTemp(files: Files, temp: string): void {
  try {
    files.unlink(temp);
  } catch (error) {
    if (!isErrno(error)) throw error;
  }
}

// Makes each folder of the store once, durably, and remembers it: its name is on disk before
// anything in it is acknowledged.
type Folders = {
  /** Makes the folder `path`, which lies under the root, durably. */
  ensure(path: string): Promise<void>;
};

/**
 * The most folders that are remembered: sessions come and go, and forgetting a folder costs one
 * flush.
 */
const REMEMBERED = 10_000;

export function createFolders(files: Files, root: string): Folders {
  const known = new Map<string, Promise<void>>();

  const make = async (path: string): Promise<void> => {
    const parent = dirname(path);
    await ensure(parent);
    files.makeFolder(path);
    await files.flushFolder(parent);
  };

  const ensure = (path: string): Promise<void> => {
    if (path === root) return Promise.resolve();
    const before = known.get(path);
    if (before) return before;
    if (known.size >= REMEMBERED) known.clear();
    const pending = make(path).catch((error: unknown) => {
      known.delete(path);
      throw error;
    });
    known.set(path, pending);
    return pending;
  };

  return { ensure };
}
