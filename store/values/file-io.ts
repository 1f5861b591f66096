// The file system as the file store uses it: a port, so that tests can make any operation fail.
// Only what waits for the disk is asynchronous. The rest takes microseconds, and a trip through the
// thread pool costs more than it does: measured, a put and a create take 1.5 ms this way and 2.1 ms
// with everything asynchronous.
import fs from 'node:fs';
import { promisify } from 'node:util';
import { randomUUID } from 'node:crypto';
import { dirname } from 'node:path';
import { isErrno } from './store.ts';

/** Every operation may throw what node:fs throws. */
export type Files = {
  /**
   * Create `path` (EEXIST when it is there) and write; not durable yet. Returns the open
   * descriptor, closed again on failure.
   */
  write(path: string, bytes: Uint8Array): Promise<number>;
  /** fsync. */
  flush(descriptor: number): Promise<void>;
  close(descriptor: number): void;
  /** fsync of a folder: its names are durable. */
  flushFolder(path: string): Promise<void>;
  /** Gives `from` a second name; EEXIST when it is taken. */
  link(from: string, to: string): void;
  rename(from: string, to: string): void;
  unlink(path: string): void;
  /** Harmless when it is there. */
  makeFolder(path: string): void;
  exists(path: string): boolean;
  /** It is as old as if it were written now. False when it is not there. */
  renew(path: string): boolean;
  read(path: string): Promise<Uint8Array>;
  /** For what is short and was most often just written. */
  readNow(path: string): Uint8Array;
  /** Milliseconds since it was last written, by name. */
  ages(folder: string): readonly { readonly name: string; readonly age: number }[];
};

/**
 * Above this a write goes through the thread pool: writing it here would hold up the process for
 * too long.
 */
const LARGE = 256 * 1024;

const open = promisify(fs.open);
const flush = promisify(fs.fsync);
const writeFile = promisify(fs.writeFile) as (descriptor: number, bytes: Uint8Array) => Promise<void>;
const readInto = promisify(fs.read) as unknown as (
  descriptor: number,
  options: { buffer: Uint8Array; offset: number },
) => Promise<{ bytesRead: number }>;

async function readWhole(descriptor: number): Promise<Uint8Array> {
  const size = fs.fstatSync(descriptor).size;
  const buffer = Buffer.allocUnsafe(size);
  let offset = 0;
  while (offset < size) {
    const { bytesRead } = await readInto(descriptor, { buffer, offset });
    if (bytesRead === 0) break;
    offset += bytesRead;
  }
  return buffer.subarray(0, offset);
}

async function withDescriptor<T>(descriptor: number, use: (descriptor: number) => Promise<T>): Promise<T> {
  try {
    return await use(descriptor);
  } finally {
    fs.closeSync(descriptor);
  }
}

async function write(path: string, bytes: Uint8Array): Promise<number> {
  const descriptor = fs.openSync(path, 'wx', 0o600);
  try {
    if (bytes.length > LARGE) await writeFile(descriptor, bytes);
    else fs.writeFileSync(descriptor, bytes);
    return descriptor;
  } catch (error) {
    fs.closeSync(descriptor);
    throw error;
  }
}

function ages(folder: string): { name: string; age: number }[] {
  return fs.readdirSync(folder).flatMap((name) => {
    const found = fs.statSync(`${folder}/${name}`, { throwIfNoEntry: false });
    return found ? [{ name, age: Date.now() - found.mtimeMs }] : [];
  });
}

function renew(path: string): boolean {
  try {
    const now = new Date();
    fs.utimesSync(path, now, now);
    return true;
  } catch (error) {
    if (isErrno(error) && error.code === 'ENOENT') return false;
    throw error;
  }
}

export const nodeFiles: Files = {
  write,
  flush,
  close: fs.closeSync,
  flushFolder: (path) => withDescriptor(fs.openSync(path, 'r'), flush),
  link: fs.linkSync,
  rename: fs.renameSync,
  unlink: fs.unlinkSync,
  makeFolder: (path) => void fs.mkdirSync(path, { recursive: true, mode: 0o700 }),
  exists: (path) => fs.statSync(path, { throwIfNoEntry: false }) !== undefined,
  renew,
  read: async (path) => withDescriptor(await open(path, 'r'), readWhole),
  readNow: fs.readFileSync,
  ages,
};

// Like Promise.all, but nothing is still under way when it rejects: a descriptor is not closed
// under a running fsync.

async function settle<T>(work: readonly Promise<T>[]): Promise<T[]> {
  const results = await Promise.allSettled(work);
  return results.map((result) => {
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  });
}

// How bytes reach the disk: two waits, whatever is written. Invariants: 1 A file gets a name only
// after its bytes are flushed: what is found under a name was whole when it was written. 2 A write
// is acknowledged only after the folders with its names are flushed. 3 A step is one file under the
// names of its record and of its values: no record is ever without their bytes, whichever names
//   a power cut spares. Who finds the record sees to the other names before it answers.

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
  /** The names in the folders of `paths` are durable. */
  flushNames(paths: readonly string[]): Promise<void>;
  /** Gives `from` the name `path`; false when it is taken. */
  link(from: string, path: string): boolean;
  /** Gives `from` the name `path`, also when it is taken. */
  replace(from: string, path: string): void;
};

export function createFileWrites(files: Files, folders: Folders, tempFolder: string): FileWrites {
  const newTemp = (): string => `${tempFolder}/${process.pid}-${randomUUID()}`;

  const stage = async (temp: string, bytes: Uint8Array, inFolders: readonly string[]): Promise<void> => {
    const descriptor = await files.write(temp, bytes);
    try {
      await settle([files.flush(descriptor), ...inFolders.map((folder) => folders.ensure(folder))]);
    } finally {
      files.close(descriptor);
    }
  };

  const flushNames = async (paths: readonly string[]): Promise<void> => {
    await settle(foldersOf(paths).map((folder) => files.flushFolder(folder)));
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
    link: (from, path) => linked(files, from, path),
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

function linked(files: Files, from: string, to: string): boolean {
  try {
    files.link(from, to);
    return true;
  } catch (error) {
    if (isErrno(error) && error.code === 'EEXIST') return false;
    throw error;
  }
}

/** Best effort: a temp file left behind is removed when it is a day old. */
function removeTemp(files: Files, temp: string): void {
  try {
    files.unlink(temp);
  } catch (error) {
    if (!isErrno(error)) throw error;
  }
}

// Makes each folder of the store once, durably, and remembers it: its name is on disk before
// anything in it is acknowledged.

export type Folders = {
  /** `path` lies under the root. */
  ensure(path: string): Promise<void>;
};
