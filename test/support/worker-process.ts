// Workers that can be killed: one `node` process each, started here, ended by pid.
import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import type { StartWorker } from '../../worker/start-worker.ts';

export type WorkerProcess = {
  readonly pid: number;
  /** Milliseconds since the epoch when its ready line was read. */
  readonly readyAt: number;
  /** SIGKILL, and resolves when it is gone. */
  kill(): Promise<void>;
  /** SIGTERM, and resolves when it has drained. */
  drain(): Promise<void>;
};

export type ProcessSettings = Omit<StartWorker, 'log' | 'tools' | 'env'> & {
  readonly env: Record<string, string | undefined>;
  /** A module whose default export is the configuration, instead of `config`. */
  readonly configFile?: string;
  /** Of the process itself, beside PATH and HOME. */
  readonly processEnv?: Readonly<Record<string, string>>;
};

/**
 * Workers that are only there to die run workflows in the main thread, as in one-thread.ts: they
 * are ready after two thirds of the work.
 */
export const ONE_THREAD = { TEMPORAL_DEBUG: '1' };

const program = fileURLToPath(new URL('./worker-process.mjs', import.meta.url));

/** Resolves when it polls. */
export async function workerProcess({ processEnv, ...settings }: ProcessSettings): Promise<WorkerProcess> {
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, ...processEnv };
  const child = spawn(process.execPath, [program, JSON.stringify(settings)], {
    env,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  await readyLine(child);
  const end = (signal: NodeJS.Signals): Promise<void> => (child.kill(signal), ended);
  return { pid: child.pid ?? 0, readyAt: Date.now(), kill: () => end('SIGKILL'), drain: () => end('SIGTERM') };
}

function readyLine(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    if (child.stdout) createInterface({ input: child.stdout }).once('line', () => resolve());
    child.once('exit', (code, signal) =>
      reject(new Error(`the worker ended with ${signal ?? code} before it was ready`)),
    );
  });
}
