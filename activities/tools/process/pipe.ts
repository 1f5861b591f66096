// A true pipe for a child's output. What child_process makes by itself is a socket pair, and a socket cannot be opened
// as /dev/stdout or /dev/stderr: `echo x > /dev/stderr` fails on one. Node has no pipe(2), so this is a FIFO, at once unlinked.
import { execFile } from 'node:child_process';
import { closeSync, constants, open as openCallback } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** File descriptors: plain numbers, because a stream or a child takes them over. */
export type Pipe = { readonly read: number; readonly write: number };

const open = promisify<string, number, number>(openCallback);

/** Both ends are the caller's to close. Nothing of it stays in the file system. */
export async function openPipe(): Promise<Pipe> {
  const folder = await mkdtemp(join(tmpdir(), 'perdure-pipe-'));
  try {
    const path = join(folder, 'fifo');
    await promisify(execFile)('mkfifo', ['-m', '600', path]);
    // Without O_NONBLOCK this would wait for a writer; the writer then finds a reader and does not wait either.
    const read = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      return { read, write: await open(path, constants.O_WRONLY) };
    } catch (error) {
      closeSync(read);
      throw error;
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
