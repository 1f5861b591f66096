// One sandbox: the SDK's own worker with fenced tools, in a network namespace and a folder of its
// own, from which it reaches one address. It is killed or frozen here, and comes back.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { until } from '../../support/until.ts';
import { addHostNetwork, signalAll } from '../hosts-under-fire/host.ts';

const program = fileURLToPath(new URL('../../managed/sandbox/worker.mjs', import.meta.url));

export type SandboxOptions = {
  readonly place: number;
  /** Keeps its own folder and its log. */
  readonly folder: string;
  readonly baseURL: string;
  readonly environment: string;
  readonly key: string;
  /** `fenced` or `plain`, as worker.mjs takes it. */
  readonly mode: string;
};

export class Sandbox {
  readonly name: string;
  state: 'up' | 'frozen' | 'killed' = 'killed';
  /** Processes that ended although nobody had killed them. */
  endedByThemselves = 0;
  readonly #options: SandboxOptions;
  readonly #own: string;
  #worker: ChildProcess | null = null;

  constructor(options: SandboxOptions) {
    this.#options = options;
    this.name = `sandbox-${options.place}`;
    this.#own = join(options.folder, this.name);
    mkdirSync(this.#own);
    addHostNetwork({ name: this.name, place: options.place });
  }

  start(): void {
    const { baseURL, environment, key, mode } = this.#options;
    const argv = [process.execPath, program, baseURL, environment, key, this.#own, mode];
    const worker = spawn('ip', ['netns', 'exec', this.name, ...argv], {
      cwd: this.#own,
      env: { PATH: process.env.PATH, HOME: this.#own },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#worker = worker;
    const log = createWriteStream(`${this.#own}.log`, { flags: 'a' });
    for (const stream of [worker.stdout, worker.stderr]) stream.pipe(log, { end: false });
    worker.once('exit', (code, signal) => {
      log.end(`(ended: ${signal ?? code})\n`);
      if (this.#worker !== worker || this.state === 'killed') return;
      this.endedByThemselves += 1;
      this.start();
    });
    this.state = 'up';
  }

  /** `alone`: only the worker's own process, so that what it runs goes on. */
  async kill({ alone }: { readonly alone: boolean }): Promise<void> {
    this.state = 'killed';
    const worker = this.#worker;
    const ended = worker && worker.exitCode === null && worker.signalCode === null ? once(worker, 'exit') : null;
    worker?.kill('SIGKILL');
    await ended;
    if (alone) return;
    await until(() => {
      const left = this.#processes();
      signalAll(left, 'SIGKILL');
      return left.length === 0;
    });
  }

  /** Stops all of its processes, those included that one of them starts meanwhile. */
  freeze(): void {
    this.state = 'frozen';
    for (let known = -1, found = this.#processes(); found.length > known; found = this.#processes()) {
      known = found.length;
      signalAll(found, 'SIGSTOP');
    }
  }

  thaw(): void {
    signalAll(this.#processes(), 'SIGCONT');
    this.state = 'up';
  }

  #processes(): readonly number[] {
    const out = execFileSync('ip', ['netns', 'pids', this.name], { encoding: 'utf8' });
    return out.split('\n').filter(Boolean).map(Number);
  }
}
