// A true pipe for a child's output. What child_process makes by itself is a socket pair, and a socket cannot be opened
// as /dev/stdout or /dev/stderr: `echo x > /dev/stderr` fails on one. Node has no pipe(2), so this is a FIFO, soon unlinked.
import { closeSync, constants, fstatSync, open as openCallback } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Programs } from './programs.ts';
import { startCommand } from './spawner.ts';

export type Pipe = {
  /** A file descriptor, the caller's to close. */
  readonly read: number;
  /** Where a writer opens it, and what it must find there. */
  readonly path: string;
  readonly inode: number;
  /** Takes it out of the file system: whoever has it open goes on. */
  unlink(): Promise<void>;
};

export type PipePlace = {
  /** Where no command of an agent reaches: it could put a link to any file in the pipe's place. Made when it is not there. */
  readonly folder: string;
  readonly programs: Programs;
};

const open = promisify<string, number, number>(openCallback);

/** Rejects when what is opened is no pipe of ours. */
export async function openPipe({ folder, programs }: PipePlace): Promise<Pipe> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const place = await mkdtemp(join(folder, 'pipe-'));
  const unlink = (): Promise<void> => rm(place, { recursive: true, force: true });
  try {
    const path = join(place, 'fifo');
    await makePipe(path, programs);
    // Without O_NONBLOCK this would wait for a writer.
    const read = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
    return { read, path, inode: inodeOfOurs(read), unlink };
  } catch (error) {
    await unlink();
    throw error;
  }
}

async function makePipe(path: string, programs: Programs): Promise<void> {
  const env = programs.environment();
  const { exit } = await startCommand({ argv: [programs.at('mkfifo'), '-m', '600', path], cwd: '/', env }, env);
  const { code, signal } = await exit;
  if (code !== 0) throw new Error(`mkfifo ${path} failed: ${signal ?? `status ${code}`}`);
}

/** Closes it and throws unless it is a pipe that we have made. */
function inodeOfOurs(fd: number): number {
  const found = fstatSync(fd);
  if (found.isFIFO() && found.uid === process.getuid?.() && (found.mode & 0o077) === 0) return found.ino;
  closeSync(fd);
  throw new Error('the pipe for the output of a command was replaced by something else while it was being opened');
}
