// One container without an engine: network, processes, mounts and names of its own, the user and
// the capabilities that its service says, and an address on the bridge that all have in common.
import { execFileSync, spawn } from 'node:child_process';
import { appendFileSync, createWriteStream, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const ENTER = fileURLToPath(new URL('enter.sh', import.meta.url));
const PREFIX = '10.77.0.';
const BRIDGE = 'perdure0';

export function makeBridge() {
  ip('link', 'set', 'lo', 'up');
  mkdirSync('/run/netns', { recursive: true });
  execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', '/run/netns']);
  ip('link', 'add', BRIDGE, 'type', 'bridge');
  ip('addr', 'add', `${PREFIX}1/24`, 'dev', BRIDGE);
  ip('link', 'set', BRIDGE, 'up');
}

/** @param {number} place */
export const addressOf = (place) => `${PREFIX}${place + 10}`;

function ip(...args) {
  execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'inherit'] });
}

/**
 * @param {{ name: string, place: number, folder: string, hosts: string, image: string | null, argv: readonly string[],
 *   cwd: string, env: Record<string, string>, user: string, capAdd: readonly string[],
 *   mounts: readonly { from: string, to: string, isReadOnly: boolean }[] }} wanted
 */
export function openContainer(wanted) {
  connectNetwork(wanted);
  const folder = join(wanted.folder, wanted.name);
  mkdirSync(join(folder, 'root'), { recursive: true });
  const mounts = [{ from: wanted.hosts, to: '/etc/hosts', isReadOnly: true }, ...wanted.mounts];
  const lines = mounts.map(({ from, to, isReadOnly }) => `${isReadOnly ? 'ro' : 'rw'} ${from} ${to}\n`);
  writeFileSync(join(folder, 'mounts'), lines.join(''));
  return new Container(wanted, folder);
}

function connectNetwork({ name, place }) {
  ip('netns', 'add', name);
  ip('link', 'add', `p${place}`, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name);
  ip('link', 'set', `p${place}`, 'master', BRIDGE, 'up');
  ip('-n', name, 'addr', 'add', `${addressOf(place)}/24`, 'dev', 'eth0');
  ip('-n', name, 'link', 'set', 'eth0', 'up');
  ip('-n', name, 'link', 'set', 'lo', 'up');
}

class Container {
  #wanted;
  #folder;
  #child = null;
  /** Resolves to the exit status of the program that runs, 128 and the signal where one ended it. */
  ended = Promise.resolve(0);

  constructor(wanted, folder) {
    this.#wanted = wanted;
    this.#folder = folder;
  }

  get log() {
    return join(this.#folder, 'log');
  }

  start() {
    const { name, image, argv, env } = this.#wanted;
    const spaces = ['--mount', '--pid', '--uts', '--ipc', '--fork', '--kill-child'];
    const enter = ['sh', ENTER, join(this.#folder, 'root'), name, image ?? '-', join(this.#folder, 'mounts')];
    const child = spawn('ip', ['netns', 'exec', name, 'unshare', ...spaces, ...enter, ...this.#become(argv)], {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const log = createWriteStream(this.log, { flags: 'a' });
    for (const stream of [child.stdout, child.stderr]) stream.pipe(log, { end: false });
    this.#child = child;
    this.ended = new Promise((resolve) => {
      child.once('exit', (code, signal) => {
        appendFileSync(this.log, `(ended: ${signal ?? code})\n`);
        resolve(code ?? 137);
      });
    });
  }

  isRunning() {
    return this.#child !== null && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Sends a signal to the first process of the container. @param {NodeJS.Signals} signal */
  signal(signal) {
    process.kill(this.#first(), signal);
  }

  /** Runs a program in it, as its health check does. @returns {Promise<{ status: number, out: string }>} */
  exec(argv, timeoutMs) {
    const { env } = this.#wanted;
    const into = ['--target', String(this.#first()), '--mount', '--net', '--pid', '--uts', '--ipc', '--root', '--wd'];
    const child = spawn('nsenter', [...into, ...this.#become(argv)], {
      env,
      timeout: timeoutMs,
      killSignal: 'SIGKILL',
    });
    let out = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes) => (out += bytes));
    return new Promise((resolve) => child.once('close', (code) => resolve({ status: code ?? 1, out })));
  }

  async stop(graceMs) {
    if (!this.isRunning()) return this.ended;
    this.signal('SIGTERM');
    const left = await Promise.race([this.ended, sleep(graceMs, 'late', { ref: false })]);
    if (left === 'late' && this.isRunning()) this.signal('SIGKILL');
    return this.ended;
  }

  #become(argv) {
    const { user, capAdd, cwd } = this.#wanted;
    const [uid, gid = uid] = user.split(':');
    const caps = ['-all', ...capAdd.map((name) => `+${name.toLowerCase()}`)].join(',');
    const bounds = ['--no-new-privs', `--bounding-set=${caps}`, `--inh-caps=${caps}`];
    return ['setpriv', '--reuid', uid, '--regid', gid, '--clear-groups', ...bounds, 'env', '-C', cwd, ...argv];
  }

  /** The pid of the container's first process: the one child of `unshare`. */
  #first() {
    const pid = this.#child?.pid;
    const [first] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
    if (!first) throw new Error(`${this.#wanted.name} does not run`);
    return Number(first);
  }
}
