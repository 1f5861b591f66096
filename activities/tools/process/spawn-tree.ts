// A child process as the leader of its own group and session, its output on one true pipe. `killTree` ends all of it.
import { closeSync } from 'node:fs';
import { Socket, type ConnectOpts, type SocketConstructorOpts } from 'node:net';
import { bootId } from '../../process-identity.ts';
import type { ChildRecord } from '../tool.ts';
import { openPipe, type PipePlace } from './pipe.ts';
import { startCommand, type TreeExit } from './spawner.ts';

export type ProcessTree = {
  readonly leader: ChildRecord;
  /** Of the leader, once it is reaped. */
  readonly exit: Promise<TreeExit>;
  /** When nobody holds the output open any more, or after `stopReading`. */
  readonly drained: Promise<void>;
  stopReading(): void;
};

export type TreeOptions = {
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
