// A child process as the leader of its own group and session, its output on one true pipe. `killTree` ends all of it.
import { closeSync, constants, fstatSync, open as openCallback } from 'node:fs';
import { Socket, type ConnectOpts, type SocketConstructorOpts } from 'node:net';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { bootId, type ChildRecord } from './identity.ts';
import { startCommand, type TreeExit } from './spawner.ts';
import type { Programs } from './programs.ts';

export type ProcessTree = {
  readonly leader: ChildRecord;
  /** The leader's, once it is reaped. */
  readonly exit: Promise<TreeExit>;
  /** When nobody holds the output open any more, or after `stopReading`. */
  readonly drained: Promise<void>;
  stopReading(): void;
};

type TreeOptions = {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly pipes: PipePlace;
  /** Awaited right before the program is started; what it throws keeps it from starting. */
  readonly before?: () => Promise<void>;
  /** Standard output and error in the order they were written. The view is reused after the call returns. */
  onOutput(bytes: Uint8Array): void;
};

/** Rejects as `startCommand` does. */
export async function spawnTree(argv: readonly string[], options: TreeOptions): Promise<ProcessTree> {
  const { cwd, env, pipes, onOutput } = options;
  const { read, path, inode, unlink } = await openPipe(pipes);
  try {
    await options.before?.();
    const child = await startCommand({ argv, cwd, env, output: { path, inode } }, pipes.programs.environment());
    // Not before: until someone has opened it for writing, a pipe reads as ended.
    const output = reader(read, onOutput);
    const drained = new Promise<void>((resolve) => output.once('close', () => resolve()));
    const leader = { pid: child.pid, startTime: child.startTime, bootId: bootId() };
    return { leader, exit: child.exit, drained, stopReading: () => output.destroy() };
  } catch (error) {
    closeSync(read);
    throw error;
  } finally {
    await unlink();
  }
}

/** One buffer for all reads: a command that writes a gigabyte costs no garbage. */
function reader(fd: number, onOutput: TreeOptions['onOutput']): Socket {
  const options: SocketConstructorOpts & Pick<ConnectOpts, 'onread'> = {
    fd,
    readable: true,
    writable: false,
    onread: {
      buffer: new Uint8Array(64 * 1024),
      callback: (length, buffer) => {
        onOutput(buffer.subarray(0, length));
        return true;
      },
    },
  };
  const socket = new Socket(options);
  // Reading a pipe fails only when it is torn down, and `close` follows.
  socket.on('error', () => undefined);
  socket.resume();
  return socket;
}

// A true pipe for a child's output. What child_process makes by itself is a socket pair, and a socket cannot be opened
// as /dev/stdout or /dev/stderr: `echo x > /dev/stderr` fails on one. Node has no pipe(2), so this is a FIFO, soon unlinked.

type Pipe = {
  /** A file descriptor, the caller's to close. */
  readonly read: number;
  /** Where a writer opens it, and what it must find there. */
  readonly path: string;
  readonly inode: number;
  /** Takes it out of the file system: whoever has it open goes on. */
  unlink(): Promise<void>;
};

type PipePlace = {
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
