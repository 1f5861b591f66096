// What stays beside the sandboxes: the embedded Temporal server, and `perdure serve` and a worker of
// Perdure, which are killed and started again.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openDataFolder } from '../../../connection/data-folder.ts';
import { findBinary } from '../../../worker/embedded/find-binary.ts';
import { joinServer } from '../../../worker/embedded/join-server.ts';
import { until } from '../../support/until.ts';

const program = fileURLToPath(new URL('../../../bin/perdure.mjs', import.meta.url));

export type Env = Readonly<Record<string, string>>;

/** Makes the folders, and joins the server that all processes use. `modelURL`: of the model. */
export async function openPlace(folder: string, modelURL: string): Promise<Env> {
  const data = join(folder, 'data');
  const settings = join(folder, 'settings', 'perdure');
  mkdirSync(settings, { recursive: true });
  writeFileSync(join(settings, 'perdure.config.mjs'), 'export default { memory: false, snapshots: false };');
  await joinServer({
    folder: openDataFolder({ PERDURE_DATA: data }),
    role: 'command',
    worker: false,
    env: process.env,
    binary: (wanted) => findBinary({ env: process.env, wanted, say: () => {} }),
    say: () => {},
  });
  return {
    PATH: process.env.PATH ?? '',
    HOME: process.env.HOME ?? '',
    PERDURE_DATA: data,
    XDG_CONFIG_HOME: join(folder, 'settings'),
    ANTHROPIC_API_KEY: 'test',
    ANTHROPIC_BASE_URL: modelURL,
  };
}

type SupervisedOptions = {
  readonly name: 'server' | 'worker';
  readonly argv: readonly string[];
  /** What it prints when it is ready. */
  readonly ready: string;
  readonly folder: string;
  readonly env: Env;
};

/** A process of Perdure with somebody who starts it again. */
export class Supervised {
  readonly #options: SupervisedOptions;
  #child: ChildProcess | null = null;

  constructor(options: SupervisedOptions) {
    this.#options = options;
  }

  get name(): 'server' | 'worker' {
    return this.#options.name;
  }

  /** Resolves when it is ready. */
  async start(): Promise<void> {
    const { argv, folder, env, ready, name } = this.#options;
    const child = spawn(process.execPath, [program, ...argv], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#child = child;
    const log = createWriteStream(join(folder, `${name}.log`), { flags: 'a' });
    let out = '';
    child.stdout.on('data', (bytes: Buffer) => (out += bytes.toString()));
    for (const stream of [child.stdout, child.stderr]) stream.pipe(log, { end: false });
    child.once('exit', (code, signal) => log.end(`(ended: ${signal ?? code})\n`));
    await until(() => out.includes(ready) || child.exitCode !== null);
    if (child.exitCode !== null) throw new Error(`the ${name} has ended with ${child.exitCode}`);
  }

  async killAndStart(): Promise<void> {
    const child = this.#child;
    if (child && child.exitCode === null && child.signalCode === null) {
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    }
    await this.start();
  }
}

/** Runs a command of Perdure, and returns what it prints. */
export async function perdure(argv: readonly string[], env: Env): Promise<string> {
  const child = spawn(process.execPath, [program, ...argv], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  let out = '';
  child.stdout.on('data', (bytes: Buffer) => (out += bytes.toString()));
  const [status] = (await once(child, 'close')) as [number | null];
  if (status !== 0) throw new Error(`perdure ${argv.join(' ')} ended with ${status}`);
  return out.trim();
}
