// Keeps a sandbox ready for the next command, because building one takes several times as long as
// a short command. In it a shell waits for what it is to become; each is used once, and only where
// a sandbox that is built now would be the same.
import { type BigIntStats, closeSync, lstatSync, readFileSync, readSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { codeOf } from '../text.ts';
import { CALL_VARIABLE } from './environment.ts';
import { ownProcessId } from './kill-tree.ts';
import { openPipes, type PipePlace } from './pipes.ts';
import { isExecutable, type Programs } from './programs.ts';
import { type ProcessTree, readTree, spawnTree, type TreeOptions } from './spawn-tree.ts';
import { spawnCommand, type StartedCommand, type TreeExit } from './spawner.ts';
import { join } from 'node:path';
import { childrenOf } from './proc.ts';

/** Milliseconds that a sandbox waits for a command. */
const KEPT_MS = 10_000;
/** Sandboxes that wait at the same time, of all workspaces. */
const MOST_PREPARED = 4;

/** Milliseconds that a command waits for a sandbox whose building has begun, and between looks. */
const MOST_BUILDING_MS = 2_000;
const LOOK_MS = 2;

/** A pipe takes as much at once; a longer command gets a sandbox of its own. */
const MOST_SCRIPT = 48 * 1024;
const SIZE_DIGITS = 8;
/** A waiting shell prints this first. */
const READY = '+';
/** At the end of its input it ends. */
const WAITING = `printf ${READY}; read -rN ${SIZE_DIGITS} size && read -rN "$size" script && eval "$script"`;

type Prepared = {
  readonly child: StartedCommand;
  /** File descriptors of our ends. */
  readonly input: number;
  readonly output: number;
};

type Waiting = {
  /** The arguments of the sandbox, up to the command. */
  readonly sandboxArgs: readonly string[];
  /** The mounts of this machine before it was built. */
  readonly mounts: string;
  /** Resolves with null when it could not be started. */
  readonly started: Promise<Prepared | null>;
  readonly timer: NodeJS.Timeout;
};

export type PreparedSandboxes = {
  /**
   * Starts `command` in a sandbox with the arguments `sandboxArgs`. Does and rejects as `spawnTree`
   * of both does.
   */
  spawn(sandboxArgs: readonly string[], command: readonly string[], options: TreeOptions): Promise<ProcessTree>;
  /** Ends the sandboxes that wait, and prepares no more. */
  close(): void;
};

/**
 * Only for pipes in a folder that no command reaches: who finds one could give the shell its
 * command.
 */
export function createPreparedSandboxes(pipes: PipePlace, keptMs = KEPT_MS): PreparedSandboxes {
  return new Preparing(pipes, keptMs);
}

class Preparing implements PreparedSandboxes {
  readonly #pipes: PipePlace;
  readonly #keptMs: number;
  readonly #waiting = new Set<Waiting>();
  /** Commands that run. */
  #running = 0;
  #isClosed = false;

  constructor(pipes: PipePlace, keptMs: number) {
    this.#pipes = pipes;
    this.#keptMs = keptMs;
  }

  async spawn(sandboxArgs: readonly string[], command: readonly string[], options: TreeOptions): Promise<ProcessTree> {
    this.#running += 1;
    try {
      const tree =
        (await this.#useOne(sandboxArgs, command, options)) ?? (await spawnTree([...sandboxArgs, ...command], options));
      void tree.exit.then((exit) => this.#ended(sandboxArgs, exit));
      return tree;
    } catch (error) {
      this.#running -= 1;
      throw error;
    }
  }

  close(): void {
    this.#isClosed = true;
    for (const waiting of this.#waiting) this.#drop(waiting);
  }

  async #useOne(
    sandboxArgs: readonly string[],
    command: readonly string[],
    options: TreeOptions,
  ): Promise<ProcessTree | null> {
    const found = this.#find(sandboxArgs);
    const script = found && scriptOf(this.#pipes, command, options.env);
    if (!found || !script) return null;
    this.#forget(found);
    const prepared = await found.started;
    if (prepared === null) return null;
    let isGiven = false;
    try {
      if (!(await becomesReady(prepared, options.signal))) return null;
      await options.before?.();
      // A sandbox of its own is ended while it is built.
      isGiven = options.signal?.aborted !== true && giveScript(found, prepared, script);
    } finally {
      closeSync(prepared.input);
      if (!isGiven) closeSync(prepared.output);
    }
    if (!isGiven) return null;
    prepared.child.begin();
    return readTree(prepared.child, prepared.output, options.onOutput);
  }

  /** A command that was killed has mostly been stopped, and then its run makes no other soon. */
  #ended(sandboxArgs: readonly string[], { code, signal }: TreeExit): void {
    this.#running -= 1;
    if (signal === null && code !== null && code < 128) this.#prepareNext(sandboxArgs);
  }

  /** Prepares for the next command of that kind, where none runs beside it that it would slow. */
  #prepareNext(sandboxArgs: readonly string[]): void {
    if (this.#isClosed || this.#running > 0 || this.#waiting.size >= MOST_PREPARED || this.#find(sandboxArgs)) return;
    const mounts = canLookInside() ? readHostMounts() : null;
    if (mounts === null) return;
    // Without one the next command has its own sandbox, and tells what is wrong.
    const started = startWaiting(sandboxArgs, this.#pipes).catch(() => null);
    const waiting = {
      sandboxArgs,
      mounts,
      started,
      timer: setTimeout(() => this.#drop(waiting), this.#keptMs).unref(),
    };
    this.#waiting.add(waiting);
    void started.then((prepared) => prepared?.child.exit).then(() => this.#drop(waiting));
  }

  #find(sandboxArgs: readonly string[]): Waiting | undefined {
    return [...this.#waiting].find((one) => isEqual(one.sandboxArgs, sandboxArgs));
  }

  #drop(waiting: Waiting): void {
    if (this.#forget(waiting)) void waiting.started.then((prepared) => prepared && closeEnds(prepared));
  }

  /** Returns false for one that doesn't wait. */
  #forget(waiting: Waiting): boolean {
    clearTimeout(waiting.timer);
    return this.#waiting.delete(waiting);
  }
}

async function startWaiting(sandboxArgs: readonly string[], pipes: PipePlace): Promise<Prepared> {
  const { programs } = pipes;
  const opened = await openPipes(pipes, ['in', 'out']);
  const [input, output] = opened.pipes;
  const shell = [programs.at('bash'), '--norc', '--noprofile', '-c', WAITING];
  const env = waitingEnvironment(programs);
  try {
    const command = { argv: [...sandboxArgs, ...shell], cwd: '/', env, input, output, isWaiting: true };
    const child = await spawnCommand(command, programs.environment());
    return { child, input: input.own, output: output.own };
  } catch (error) {
    [input, output].forEach(({ own }) => closeSync(own));
    throw error;
  } finally {
    opened.unlink();
  }
}

/**
 * Returns false for a sandbox that was not built. One whose building has begun is there before a
 * new one.
 */
async function becomesReady({ output }: Prepared, signal?: AbortSignal): Promise<boolean> {
  const byte = Buffer.alloc(1);
  for (const until = performance.now() + MOST_BUILDING_MS; performance.now() < until; await sleep(LOOK_MS)) {
    if (signal?.aborted === true) return false;
    try {
      return readSync(output, byte) === 1 && byte.toString() === READY;
    } catch (error) {
      if (codeOf(error) !== 'EAGAIN') return false;
    }
  }
  return false;
}

/**
 * Returns false when the waiting shell was not given its script: another sandbox would be built
 * now, or the shell is gone. One whose input ends before its script does runs nothing.
 */
function giveScript({ sandboxArgs, mounts }: Waiting, { child, input }: Prepared, script: Buffer): boolean {
  if (readHostMounts() !== mounts || !showsSameNow(sandboxArgs, child.pid)) return false;
  try {
    return writeSync(input, script) === script.length;
  } catch {
    return false;
  }
}

function closeEnds({ input, output }: Prepared): void {
  closeSync(input);
  closeSync(output);
}

/** Names that mean something to the shell that waits, or that it cannot export. */
const OWN_TO_SHELL =
  /^(?:BASH.*|SHELLOPTS|E?UID|PPID|SHLVL|IFS|_|S?RANDOM|SECONDS|LINENO|EPOCH.*|HISTCMD|FUNCNAME|GROUPS|DIRSTACK|OPT(?:ARG|IND)|PIPESTATUS|POSIXLY_CORRECT)$/;
const EXPORTABLE = /^[A-Za-z_][A-Za-z_0-9]*$/;

/**
 * Returns what makes the waiting shell the command with exactly this environment; null for what
 * cannot be given so. No value is an argument of a program: other users of the machine can read
 * those.
 */
function scriptOf(
  { programs }: PipePlace,
  command: readonly string[],
  env: Readonly<Record<string, string>>,
): Buffer | null {
  const program = programs.at('env');
  const names = Object.keys(env);
  if (!isExecutable(program) || command[0]?.includes('=') !== false || names.length === 0) return null;
  if ([...command, ...Object.values(env)].some((word) => word.includes('\0'))) return null;
  if (names.some((name) => !EXPORTABLE.test(name) || OWN_TO_SHELL.test(name))) return null;
  const removed = [...Object.keys(waitingEnvironment(programs)), 'PWD', 'OLDPWD'];
  const variables = Object.entries(env).map(([name, value]) => `${name}=${quote(value)}`);
  // The shell warns of a locale that the machine lacks, as the command's own shell does.
  const become = `{ unset -v ${removed.join(' ')}; export ${variables.join(' ')}; } 2>/dev/null`;
  // Variables that the shell itself adds are left out.
  const words = [program, '-u', '_', '-u', 'SHLVL', '--', ...command];
  const script = `${become}; exec ${words.map(quote).join(' ')} </dev/null`;
  if (script.length > MOST_SCRIPT) return null;
  return Buffer.from(`${String(script.length).padStart(SIZE_DIGITS, '0')}${script}`, 'latin1');
}

const waitingEnvironment = (programs: Programs): Readonly<Record<string, string>> => ({
  ...programs.environment(),
  LC_ALL: 'C',
  [CALL_VARIABLE]: ownProcessId('helper'),
});

/** Quotes a word for bash in ASCII alone, whatever bytes it has. */
function quote(word: string): string {
  if (/^[\t\n -~]*$/.test(word)) return `'${word.replaceAll("'", String.raw`'\''`)}'`;
  const bytes = [...Buffer.from(word)].map((byte) => `\\${byte.toString(8).padStart(3, '0')}`);
  return `$'${bytes.join('')}'`;
}

const isEqual = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((word, at) => word === other[at]);

/** How many words follow an option of bubblewrap; those that are not here have none. */
const WORDS: Readonly<Record<string, number>> = {
  '--bind': 2,
  '--ro-bind': 2,
  '--symlink': 2,
  '--tmpfs': 1,
  '--dev': 1,
  '--proc': 1,
  '--remount-ro': 1,
  '--chdir': 1,
  '--cap-add': 1,
  '--cap-drop': 1,
  '--seccomp': 1,
};

type SandboxView = {
  /** By its path: what is shown there, or null for something that is not from outside. */
  readonly places: ReadonlyMap<string, string | null>;
  readonly dir: string;
};

/**
 * Tells whether a sandbox that was built before shows what one with the same arguments would show
 * if it were built now. It is looked at from outside, through the root of its first process.
 * Returns the mounts of this machine as the kernel lists them; null where it does not.
 */
function readHostMounts(): string | null {
  try {
    return readMounts('self');
  } catch {
    return null;
  }
}

const readMounts = (process: number | 'self'): string => readFileSync(`/proc/${process}/mountinfo`, 'utf8');

/**
 * Returns the paths at which something is mounted. One whose folder was moved has another path by
 * then.
 */
function listMountPoints(mounts: string): ReadonlySet<string> {
  const written = mounts.split('\n').map((line) => line.split(' ')[4] ?? '');
  return new Set(
    written.map((path) => path.replace(/\\(\d{3})/g, (_, code) => String.fromCharCode(parseInt(code, 8)))),
  );
}

/** Some kernels do not tell which processes another one has started. */
function canLookInside(): boolean {
  try {
    return childrenOf(process.pid) !== null;
  } catch {
    return false;
  }
}

/**
 * `leader` is the pid of the sandbox's own process, and `sandboxArgs` its arguments, up to the
 * command. A sandbox that is not built yet, or that cannot be looked into, counts as another.
 */
function showsSameNow(sandboxArgs: readonly string[], leader: number): boolean {
  const view = readArguments(sandboxArgs);
  try {
    const [first, ...others] = childrenOf(leader) ?? [];
    if (view === null || first === undefined || others.length > 0) return false;
    const root = `/proc/${first}/root`;
    if (!isSame(lookAt(`/proc/${first}/cwd/.`), lookAt(view.dir))) return false;
    const mounted = listMountPoints(readMounts(first));
    return [...view.places].every(([path, from]) => {
      if (!mounted.has(path)) return false;
      const inside = lookAt(join(root, path));
      return from === null ? inside.dev !== lookAt(path).dev : isSame(inside, lookAt(from));
    });
  } catch {
    return false;
  }
}

/** Returns null for arguments that it does not know. */
function readArguments(sandboxArgs: readonly string[]): SandboxView | null {
  const places = new Map<string, string | null>();
  let dir: string | undefined;
  for (let at = 1; at < sandboxArgs.length;) {
    const option = sandboxArgs[at] ?? '';
    if (!option.startsWith('--')) return null;
    const words = sandboxArgs.slice(at + 1, at + 1 + (WORDS[option] ?? 0));
    const [one = '', other = ''] = words;
    if (option === '--bind' || option === '--ro-bind') places.set(other, one);
    else if (['--tmpfs', '--dev', '--proc'].includes(option)) places.set(one, null);
    else if (option === '--chdir') dir = one;
    at += 1 + words.length;
  }
  return dir === undefined ? null : { places, dir };
}

const lookAt = (path: string): BigIntStats => lstatSync(path, { bigint: true });

const isSame = (one: BigIntStats, other: BigIntStats): boolean => one.dev === other.dev && one.ino === other.ino;
