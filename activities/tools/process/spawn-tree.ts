// A child process as the leader of its own group and session, its output on one true pipe. `killTree` ends all of it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync } from 'node:fs';
import { Socket, type ConnectOpts, type SocketConstructorOpts } from 'node:net';
import { bootId } from '../../process-identity.ts';
import type { ChildRecord } from '../tool.ts';
import { openPipe } from './pipe.ts';
import { processInfo } from './proc.ts';

export type TreeExit = { readonly code: number | null; readonly signal: NodeJS.Signals | null };

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
  /** Standard output and error in the order they were written. The view is reused after the call returns. */
  onOutput(bytes: Uint8Array): void;
};

/** Rejects with the system's error when the program or the folder is not there, or the arguments are too long. */
export async function spawnTree(argv: readonly string[], options: TreeOptions): Promise<ProcessTree> {
  const pipe = await openPipe();
  const output = reader(pipe.read, (bytes) => options.onOutput(bytes));
  const drained = new Promise<void>((resolve) => output.once('close', () => resolve()));
  try {
    const child = spawn(argv[0] ?? '', argv.slice(1), {
      cwd: options.cwd,
      env: { ...options.env },
      detached: true,
      stdio: ['ignore', pipe.write, pipe.write],
    });
    const exit = new Promise<TreeExit>((resolve) => child.once('exit', (code, signal) => resolve({ code, signal })));
    await once(child, 'spawn');
    const pid = child.pid ?? 0;
    const leader = { pid, startTime: processInfo(pid)?.startTime ?? '', bootId: bootId() };
    return { leader, exit, drained, stopReading: () => output.destroy() };
  } catch (error) {
    output.destroy();
    throw error;
  } finally {
    closeSync(pipe.write);
  }
}

/** One buffer for all reads: a command that writes a gigabyte costs no garbage. */
function reader(fd: number, onOutput: (bytes: Uint8Array) => void): Socket {
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
