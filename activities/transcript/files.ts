// The file system as the file store uses it: a port, so that tests can make any operation fail.
// Only what waits for the disk is asynchronous. The rest takes microseconds, and a trip through the thread pool costs more
// than it does: measured, a put and a create take 1.5 ms this way and 2.1 ms with everything asynchronous.
import fs from 'node:fs';
import { promisify } from 'node:util';

/** Every operation may throw what node:fs throws. */
export type Files = {
  /** Create `path` (EEXIST when it is there) and write; not durable yet. Returns the open descriptor, closed again on failure. */
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
  read(path: string): Promise<Uint8Array>;
  /** For what is short and was most often just written. */
  readNow(path: string): Uint8Array;
  /** Milliseconds since it was last written, by name. */
  ages(folder: string): readonly { readonly name: string; readonly age: number }[];
};

/** Above this a write goes through the thread pool: writing it here would hold up the process for too long. */
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
  read: async (path) => withDescriptor(await open(path, 'r'), readWhole),
  readNow: fs.readFileSync,
  ages,
};
