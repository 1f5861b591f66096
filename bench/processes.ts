// The processes of a measurement: a worker, and the model that it calls.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { CALLS, type Floor, type Subject } from './subjects.ts';
import type { Usage, WorkerJob } from './worker-process.ts';

export type BenchWorker = {
  readonly pid: number;
  /** Since it was asked last. */
  usage(): Promise<Usage>;
  stop(): Promise<void>;
  /** By SIGKILL. */
  kill(): Promise<void>;
};

export async function spawnWorker(job: WorkerJob): Promise<BenchWorker> {
  const { child, next } = program('./worker-process.js', [JSON.stringify(job)]);
  await next();
  return {
    pid: child.pid ?? 0,
    async usage() {
      child.stdin?.write('usage\n');
      return JSON.parse(await next()) as Usage;
    },
    stop: () => end(child),
    kill: async () => {
      const exited = once(child, 'exit');
      if (child.kill('SIGKILL')) await exited;
    },
  };
}

export type BenchModel = {
  readonly url: string;
  /** Milliseconds between each reply's end and the next request, since it was asked last. */
  gaps(): Promise<readonly number[]>;
  stop(): Promise<void>;
};

type ModelOptions = {
  readonly turns: number;
  readonly width?: number | undefined;
  readonly answerMs?: number | undefined;
};

/** Asks each session for `turns` times `width` calls, each reply `answerMs` after its request. */
export function spawnModel(subject: Exclude<Subject, Floor>, options: ModelOptions): Promise<BenchModel> {
  return spawnCaller(CALLS[subject], options);
}

/** A model that asks for the same call in each turn. `%` in its input: the number of the call. */
export async function spawnCaller(
  call: readonly [tool: string, input: string],
  { turns, width = 1, answerMs = 0 }: ModelOptions,
): Promise<BenchModel> {
  const { child, next } = program('./model-process.js', [...call, ...[turns, width, answerMs].map(String)]);
  return {
    url: await next(),
    async gaps() {
      child.stdin?.write('gaps\n');
      return JSON.parse(await next()) as readonly number[];
    },
    stop: () => end(child),
  };
}

export type SlowService = { readonly url: string; stop(): Promise<void> };

/** A service that takes `delayMs` longer for each request than the one at `target`. */
export async function spawnDelay(target: string, delayMs: number): Promise<SlowService> {
  const { child, next } = program('./delay-process.js', [target, String(delayMs)]);
  return { url: await next(), stop: () => end(child) };
}

function program(path: string, args: readonly string[]) {
  const file = fileURLToPath(new URL(path, import.meta.url));
  const child = spawn(process.execPath, [file, ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const next = async (): Promise<string> => {
    const line = await lines.next();
    if (line.done) throw new Error(`${path} ended before it was told to`);
    return line.value;
  };
  return { child, next };
}

async function end(child: ChildProcess): Promise<void> {
  child.stdin?.end();
  if (child.exitCode === null) await once(child, 'exit');
}
