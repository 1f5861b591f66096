// An open file or folder. What takes microseconds is synchronous, as in the file store
// (`store/values/file-io.ts`): a trip through the thread pool takes ten times the CPU. Long reads
// and writes, and what waits for the disk, go through the pool.
import fs, { type Stats } from 'node:fs';
import { promisify } from 'node:util';

/** Bytes that are read or written at once without the thread pool. */
const SHORT = 64 * 1024;

const readInto = promisify(fs.read);
const readAll = promisify(fs.readFile);
const writeAll = promisify(fs.writeFile);
const flush = promisify(fs.fsync);

export class OpenFile {
  /** The system's number of the open file. */
  readonly fd: number;

  /** Throws the system's errors, as all methods do. The caller closes it. */
  constructor(path: string, flags: number | string, mode?: number) {
    this.fd = fs.openSync(path, flags, mode);
  }

  stat(): Stats {
    return fs.fstatSync(this.fd);
  }

  /** Fills `buffer` from a byte of the file on; returns how many bytes there were, 0 at the end. */
  read(buffer: Buffer, position: number): number | Promise<number> {
    if (buffer.length <= SHORT) return fs.readSync(this.fd, buffer, 0, buffer.length, position);
    return readInto(this.fd, buffer, 0, buffer.length, position).then(({ bytesRead }) => bytesRead);
  }

  /** Reads a file that was just opened; `size` is what it was seen to have. */
  async readAll(size: number): Promise<Buffer> {
    return size <= SHORT ? fs.readFileSync(this.fd) : await readAll(this.fd);
  }

  /**
   * Writes at the position of the descriptor, which is the start of a file that was just opened.
   */
  async write(bytes: Uint8Array): Promise<void> {
    if (bytes.length <= SHORT) fs.writeFileSync(this.fd, bytes);
    else await writeAll(this.fd, bytes);
  }

  truncate(length: number): void {
    fs.ftruncateSync(this.fd, length);
  }

  /** Makes what was written durable. */
  async sync(): Promise<void> {
    await flush(this.fd);
  }

  close(): void {
    fs.closeSync(this.fd);
  }
}
