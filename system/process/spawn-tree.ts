// Starts a child process as the leader of its own group and session, with its output on a true
// pipe. `killTree` ends all of it.
import { closeSync } from 'node:fs';
import { Socket, type ConnectOpts, type SocketConstructorOpts } from 'node:net';
import { bootId, type ChildRecord } from './identity.ts';
import { spawnCommand, type StartedCommand, type TreeExit } from './spawner.ts';
import { type PipePlace, openPipes } from './pipes.ts';

export type ProcessTree = {
  readonly leader: ChildRecord;
  /** Resolves once the leader is reaped. */
  readonly exit: Promise<TreeExit>;
  /** Resolves when no process holds the output open, or after `stopReading`. */
  readonly drained: Promise<void>;
  stopReading(): void;
};

export type TreeOptions = {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly pipes: PipePlace;
  /** Awaited right before the program is started; when it throws, the program is not started. */
  readonly before?: () => Promise<void>;
  /** Once it is aborted, nothing is waited for: the caller ends what was started. */
  readonly signal?: AbortSignal;
  /**
   * Receives standard output and error in the order they were written. The view is reused after the
   * call returns.
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
    const child = await spawnCommand({ argv, cwd, env, output: { path, inode } }, pipes.programs.environment());
    return readTree(child, own, onOutput);
  } catch (error) {
    closeSync(own);
    throw error;
  } finally {
    unlink();
  }
}

/**
 * Reads the output of a command that was started. Only now: until someone has opened it for
 * writing, a pipe reads as ended. `own` is our end, which is closed with the tree.
 */
export function readTree(
  { pid, startTime, exit }: StartedCommand,
  own: number,
  onOutput: TreeOptions['onOutput'],
): ProcessTree {
  const output = startReading(own, onOutput);
  const drained = new Promise<void>((resolve) => output.once('close', () => resolve()));
  return { leader: { pid, startTime, bootId: bootId() }, exit, drained, stopReading: () => output.destroy() };
}

/** Uses one buffer for all reads: a command that writes a gigabyte costs no garbage. */
function startReading(fd: number, onOutput: TreeOptions['onOutput']): Socket {
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
