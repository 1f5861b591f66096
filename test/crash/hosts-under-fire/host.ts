// One host: network, processes, mounts and a name of its own, a disk that vanishes with it, and one
// worker. It is cut off, frozen or killed here, and comes back.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, mkdirSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { allProcesses } from '../../../system/process/proc.ts';
import { until } from '../../support/until.ts';

const PREFIX = '10.78.0.';
const BRIDGE = 'fire0';
/** Where the servers, the model and the ledger listen. */
export const SERVERS = `${PREFIX}1`;
export const DATA = '/srv/data';

const repository = fileURLToPath(new URL('../../..', import.meta.url));
const SETUP = fileURLToPath(new URL('host.sh', import.meta.url));

export type HostState = 'up' | 'cut off' | 'frozen' | 'killed' | 'wiped' | 'drained';

/** Where a worker is not there because it was ended. */
const ENDED: readonly HostState[] = ['killed', 'wiped', 'drained'];

function ip(...args: readonly string[]): void {
  execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'inherit'] });
}

/** Makes the network that the hosts have in common, in the namespaces of this process. */
export function makeBridge(): void {
  ip('link', 'set', 'lo', 'up');
  mkdirSync('/run/netns', { recursive: true });
  execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', '/run/netns']);
  ip('link', 'add', BRIDGE, 'type', 'bridge');
  ip('addr', 'add', `${SERVERS}/24`, 'dev', BRIDGE);
  ip('link', 'set', BRIDGE, 'up');
}

/** Makes a network namespace that reaches the bridge alone. */
export function addHostNetwork({ name, place }: { readonly name: string; readonly place: number }): HostNetwork {
  const network = { address: `${PREFIX}${place + 10}`, device: `fire-p${place}` };
  ip('netns', 'add', name);
  ip('link', 'add', network.device, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name);
  ip('link', 'set', network.device, 'master', BRIDGE, 'up');
  ip('-n', name, 'addr', 'add', `${network.address}/24`, 'dev', 'eth0');
  ip('-n', name, 'link', 'set', 'eth0', 'up');
  ip('-n', name, 'link', 'set', 'lo', 'up');
  return network;
}

type HostNetwork = { readonly address: string; readonly device: string };

export type HostOptions = {
  readonly place: number;
  /** Keeps the log of its workers. */
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
};

export class Host {
  readonly name: string;
  readonly address: string;
  state: HostState = 'wiped';
  /** Workers that ended although nobody had killed them. */
  endedByThemselves = 0;
  /** How workers ended that were told to. */
  readonly drains: (number | string | null)[] = [];
  readonly #options: HostOptions;
  readonly #device: string;
  #first: ChildProcess | null = null;
  #worker: ChildProcess | null = null;
  /** The first process and what it waits with, which keep the disk. */
  #own: ReadonlySet<number> = new Set();

  constructor(options: HostOptions) {
    this.#options = options;
    this.name = `host-${options.place}`;
    const { address, device } = addHostNetwork({ name: this.name, place: options.place });
    this.address = address;
    this.#device = device;
  }

  get log(): string {
    return join(this.#options.folder, `${this.name}.log`);
  }

  /** Comes up with an empty disk, where it was killed with its disk, and a worker. */
  async start(): Promise<void> {
    if (this.#first === null) await this.#boot();
    await this.#startWorker();
    this.state = 'up';
  }

  cutOff(): void {
    this.state = 'cut off';
    ip('link', 'set', this.#device, 'down');
  }

  reconnect(): void {
    ip('link', 'set', this.#device, 'up');
    this.state = 'up';
  }

  /** Stops all of its processes, those included that one of them starts meanwhile. */
  freeze(): void {
    this.state = 'frozen';
    for (let known = 0, found = this.#processes(); found.length > known; found = this.#processes()) {
      known = found.length;
      signalAll(found, 'SIGSTOP');
    }
  }

  thaw(): void {
    signalAll(this.#processes(), 'SIGCONT');
    this.state = 'up';
  }

  /** Tells the worker to end, which leaves its sessions to other hosts first. */
  drain(): void {
    this.state = 'drained';
    const worker = allProcesses().find(({ parent }) => parent === this.#worker?.pid);
    if (worker) process.kill(worker.pid, 'SIGTERM');
  }

  /** Resolves when the worker that was told to end has ended. */
  async drained(): Promise<void> {
    const worker = this.#worker;
    await until(() => {
      // What enters a host stops itself with what it waits for, at times after both were thawed.
      worker?.kill('SIGCONT');
      return worker === null || worker.exitCode !== null || worker.signalCode !== null;
    });
    this.drains.push(worker?.signalCode ?? worker?.exitCode ?? null);
  }

  /** Kills all processes but the first, which keeps the disk. */
  async kill(): Promise<void> {
    this.state = 'killed';
    await until(() => {
      const others = this.#processes().filter((pid) => !this.#own.has(pid));
      signalAll(others, 'SIGKILL');
      return others.length === 0;
    });
  }

  /** Kills the first process: all others and the disk go with it. */
  async wipe(): Promise<void> {
    this.state = 'wiped';
    const first = this.#first;
    if (first === null) return;
    const ended = once(first, 'exit');
    // What entered from outside is killed as well: a namespace outlives a parent that reaps nothing.
    signalAll(this.#processes(), 'SIGKILL');
    await ended;
    this.#first = null;
  }

  /** Runs a program on the host, and returns what it prints. */
  async run(...argv: readonly string[]): Promise<string> {
    const child = this.#spawn(argv);
    let [out, err] = ['', ''];
    child.stdout?.on('data', (bytes: Buffer) => (out += bytes.toString()));
    child.stderr?.on('data', (bytes: Buffer) => (err += bytes.toString()));
    const [status] = (await once(child, 'close')) as [number | null];
    if (status !== 0) throw new Error(`${argv.join(' ')} on ${this.name} ended with ${status}: ${err}`);
    return out;
  }

  async #boot(): Promise<void> {
    const spaces = ['--mount', '--pid', '--uts', '--ipc', '--fork', '--kill-child', '--propagation', 'private'];
    const first = spawn('ip', ['netns', 'exec', this.name, 'unshare', ...spaces, 'sh', SETUP, this.name], {
      stdio: ['ignore', 'pipe', openSync(this.log, 'a')],
    });
    this.#first = first;
    const isUp = first.stdout ? [once(first.stdout, 'data')] : [];
    await Promise.race([...isUp, once(first, 'exit')]);
    if (first.exitCode !== null) throw new Error(`${this.name} could not be made: see ${this.log}`);
    this.#worker = null;
    this.#own = new Set(await until(() => (this.#processes().length > 1 ? this.#processes() : null)));
  }

  async #startWorker(): Promise<void> {
    const worker = this.#spawn([process.execPath, join(repository, 'bin', 'perdure.mjs'), 'worker']);
    this.#worker = worker;
    const log = createWriteStream(this.log, { flags: 'a' });
    let isReady = false;
    for (const stream of [worker.stdout, worker.stderr]) {
      stream?.on('data', (bytes: Buffer) => (isReady ||= bytes.toString().includes('worker ready')));
      stream?.pipe(log, { end: false });
    }
    worker.once('exit', (code, signal) => {
      log.end(`(ended: ${signal ?? code})\n`);
      if (this.#worker === worker && !ENDED.includes(this.state)) void this.#startAgain();
    });
    await until(() => isReady || this.#worker !== worker || worker.exitCode !== null || worker.signalCode !== null);
  }

  /** Does what a supervisor does. */
  async #startAgain(): Promise<void> {
    this.endedByThemselves += 1;
    await this.#startWorker();
  }

  #spawn(argv: readonly string[]): ChildProcess {
    const into = ['--target', String(this.pid), '--mount', '--net', '--pid', '--uts', '--ipc'];
    const env = { PATH: process.env.PATH, PERDURE_HOST: this.name, ...this.#options.env };
    return spawn('nsenter', [...into, 'env', '-C', '/srv/work', ...argv], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  }

  /** The host's first process: the one child of `unshare`. */
  private get pid(): number {
    const of = this.#first?.pid;
    const [pid] = readFileSync(`/proc/${of}/task/${of}/children`, 'utf8').trim().split(' ');
    if (!pid) throw new Error(`${this.name} does not run`);
    return Number(pid);
  }

  #processes(): readonly number[] {
    const all = allProcesses();
    const below = (of: number): readonly number[] => [
      of,
      ...all.flatMap(({ pid, parent }) => (parent === of ? below(pid) : [])),
    ];
    // What entered the host from outside is no child of its first process.
    const roots = all.filter(({ pid }) => pid === this.pid || pid === this.#worker?.pid);
    return roots.flatMap(({ pid }) => below(pid));
  }
}

export function signalAll(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids)
    try {
      process.kill(pid, signal);
    } catch {
      // It ended while we looked.
    }
}
