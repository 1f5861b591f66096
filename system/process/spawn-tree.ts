// A child process as the leader of its own group and session, its output on one true pipe.
// `killTree` ends all of it.
import { closeSync, constants, fstatSync, open as openCallback } from 'node:fs';
import { Socket, type ConnectOpts, type SocketConstructorOpts } from 'node:net';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { bootId, type ChildRecord } from './identity.ts';
import { startCommand, type PipeEnd, type TreeExit } from './spawner.ts';
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
  /**
   * Standard output and error in the order they were written. The view is reused after the call
   * returns.
   */
  onOutput(bytes: Uint8Array): void;
};

/** Rejects as `startCommand` does. */
export async function spawnTree(argv: readonly string[], options: TreeOptions): Promise<ProcessTree> {
  const { cwd, env, pipes, onOutput } = options;
  const { pipes: opened, unlink } = await openPipes(pipes, ['out']);
  const [{ own, path, inode }] = opened;
  try {
    await options.before?.();
    const child = await startCommand({ argv, cwd, env, output: { path, inode } }, pipes.programs.environment());
    // Not before: until someone has opened it for writing, a pipe reads as ended.
    const output = reader(own, onOutput);
    const drained = new Promise<void>((resolve) => output.once('close', () => resolve()));
    const leader = { pid: child.pid, startTime: child.startTime, bootId: bootId() };
    return { leader, exit: child.exit, drained, stopReading: () => output.destroy() };
  } catch (error) {
    closeSync(own);
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

// True pipes for a child's input and output. What child_process makes by itself is a socket pair,
// and a socket cannot be opened as /dev/stdout or /dev/stderr: `echo x > /dev/stderr` fails on one.
// Node has no pipe(2), so these are FIFOs, soon unlinked.

/** `own`: a file descriptor of our end, the caller's to close. */
type Pipe = PipeEnd & { readonly own: number };

export type PipeName = 'in' | 'out' | 'err';

type Pipes<Names extends readonly PipeName[]> = {
  /** In the order of their names. */
  readonly pipes: { readonly [At in keyof Names]: Pipe };
  /** Takes them out of the file system: whoever has one open goes on. */
  unlink(): Promise<void>;
};

export type PipePlace = {
  /**
   * Where no command of an agent reaches: it could put a link to any file in a pipe's place. Made
   * when it is not there.
   */
  readonly folder: string;
  readonly programs: Programs;
};

/**
 * Without a data folder in the temporary one, where what takes a pipe's place is seen, and refused.
 */
export function pipePlace(programs: Programs, dataDir: string | undefined): PipePlace {
  return { folder: dataDir === undefined ? tmpdir() : join(dataDir, 'pipes'), programs };
}

const open = promisify<string, number, number>(openCallback);

/** Rejects when what is opened is no pipe of ours. */
export async function openPipes<const Names extends readonly PipeName[]>(
  { folder, programs }: PipePlace,
  names: Names,
): Promise<Pipes<Names>> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const place = await mkdtemp(join(folder, 'pipe-'));
  const unlink = (): Promise<void> => rm(place, { recursive: true, force: true });
  const opened: Pipe[] = [];
  try {
    const paths = names.map((name) => join(place, name));
    await makePipes(paths, programs);
    for (const [at, path] of paths.entries()) opened.push(await openOwn(path, names[at] as PipeName));
    return { pipes: opened as unknown as Pipes<Names>['pipes'], unlink };
  } catch (error) {
    opened.forEach(({ own }) => closeSync(own));
    await unlink();
    throw error;
  }
}

async function makePipes(paths: readonly string[], programs: Programs): Promise<void> {
  const env = programs.environment();
  const { exit } = await startCommand({ argv: [programs.at('mkfifo'), '-m', '600', ...paths], cwd: '/', env }, env);
  const { code, signal } = await exit;
  if (code !== 0) throw new Error(`mkfifo ${paths[0]} failed: ${signal ?? `status ${code}`}`);
}

async function openOwn(path: string, name: PipeName): Promise<Pipe> {
  if (name !== 'in') return pipeAt(path, await openNow(path, constants.O_RDONLY));
  // Only what someone reads can be opened for writing without waiting.
  const other = await openNow(path, constants.O_RDONLY);
  try {
    return pipeAt(path, await openNow(path, constants.O_WRONLY));
  } finally {
    closeSync(other);
  }
}

/** Without O_NONBLOCK this would wait for the other end. */
const openNow = (path: string, flags: number): Promise<number> =>
  open(path, flags | constants.O_NONBLOCK | constants.O_NOFOLLOW);

/** Closes it and throws unless it is a pipe that we have made. */
function pipeAt(path: string, own: number): Pipe {
  const found = fstatSync(own);
  const isOurs = found.isFIFO() && found.uid === process.getuid?.() && (found.mode & 0o077) === 0;
  if (isOurs) return { path, inode: found.ino, own };
  closeSync(own);
  throw new Error('a pipe of a command was replaced by something else while it was being opened');
}
