// A real redis-server on a free port, in memory alone, ended with the test or the file that started
// it.
import { type ChildProcess, spawn } from 'node:child_process';
import { connect } from 'node:net';
import { findFreePort } from '../../worker/embedded/free-port.ts';
import { until } from './until.ts';

export type RedisServer = {
  readonly url: string;
  readonly pid: () => number;
  /** With SIGKILL: all that it held is lost. */
  kill(): Promise<void>;
  /** Again on the same port, empty; nothing where it runs. */
  start(): Promise<void>;
};

export async function redisServer(...options: readonly string[]): Promise<RedisServer> {
  const port = await findFreePort();
  let child: ChildProcess | null = null;
  const isRunning = (): boolean => child !== null && child.exitCode === null && child.signalCode === null;
  const start = async (): Promise<void> => {
    if (isRunning()) return;
    const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', ...options];
    child = spawn('redis-server', args, { stdio: 'ignore' });
    const failed = new Promise<never>((_, reject) => {
      child?.once('error', reject).once('exit', () => reject(new Error(`redis-server has ended on port ${port}`)));
    });
    failed.catch(() => undefined);
    await Promise.race([until(() => answers(port)), failed]);
  };
  const kill = async (): Promise<void> => {
    if (child === null || !isRunning()) return;
    const ended = new Promise((resolve) => child?.once('exit', resolve));
    child.kill('SIGKILL');
    await ended;
  };
  await start();
  return { url: `redis://127.0.0.1:${port}/0`, pid: () => child?.pid ?? 0, kill, start };
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('data', () => (socket.destroy(), resolve(true)));
    socket.once('error', () => resolve(false));
    socket.write('PING\r\n');
  });
}
