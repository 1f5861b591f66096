// The worker's side of the process that starts its programs. Each worker process has one, from its
// first program on.
import { type ChildProcess, fork } from 'node:child_process';
import { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { FILTERED, keyringFilter } from './keyring-filter.mjs';

/** A pipe of ours by its path, and the inode that must be found there. */
export type PipeEnd = { readonly path: string; readonly inode: number };

/**
 * A command to start. Its input is empty and its output is dropped, except for the pipes that are
 * given.
 */
export type Command = {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly input?: PipeEnd;
  readonly output?: PipeEnd;
  /** Receives standard error; absent: the same pipe as `output`. */
  readonly errors?: PipeEnd;
  /** Once started it does not keep this process alive until it begins. */
  readonly isWaiting?: boolean;
};

export type TreeExit = { readonly code: number | null; readonly signal: NodeJS.Signals | null };

export type StartedCommand = {
  readonly pid: number;
  /** Clock ticks since boot; empty where the system has no /proc. */
  readonly startTime: string;
  readonly exit: Promise<TreeExit>;
  /** Says of a command that waited that it is at work now. */
  begin(): void;
};

/** `filter` is what the command reads from its descriptor 3, in base64. */
export type ToSpawner = Command & { readonly id: number; readonly filter?: string };
export type FromSpawner = { readonly id: number } & (
  | { readonly kind: 'started'; readonly pid: number; readonly startTime: string }
  | { readonly kind: 'refused'; readonly message: string; readonly code: string | undefined }
  | ({ readonly kind: 'ended' } & TreeExit)
);

/** The code of the error when it is unknown whether the command was started. */
export const SPAWNER_GONE = 'ECANCELED';

type Pending = {
  /** Whether it keeps this process alive. */
  counts: boolean;
  started(of: Omit<StartedCommand, 'exit' | 'begin'>): void;
  refused(error: Error): void;
  ended(exit: TreeExit): void;
};

/** Bun neither reads pipes that are given by their descriptors nor keeps the channel of a fork. */
const UNDER_BUN = 'a program that bun runs starts no commands and no servers: run it with node';

type Spawner = { readonly child: ChildProcess; readonly pending: Map<number, Pending> };

/** One spawner serves the whole process, however many workers run in it. */
let current: Spawner | null = null;
let lastId = 0;

/**
 * Starts a command as the leader of its own group and session. Rejects with the system's error when
 * the program or the folder is missing or the arguments are too long, and with SPAWNER_GONE. `env`
 * is the environment for the spawner, if it has to be started.
 */
export function spawnCommand(
  { isWaiting = false, ...command }: Command,
  env: Readonly<Record<string, string>>,
): Promise<StartedCommand> {
  if (process.versions['bun'] !== undefined) return Promise.reject(new Error(UNDER_BUN));
  const spawner = (current ??= openSpawner(env));
  const id = ++lastId;
  return new Promise((resolve, reject) => {
    let resolveExit: (exit: TreeExit) => void;
    const exit = new Promise<TreeExit>((end) => (resolveExit = end));
    const pending: Pending = {
      counts: true,
      started: (of) => {
        pending.counts = !isWaiting;
        resolve({ ...of, exit, begin });
      },
      refused: reject,
      ended: (how) => resolveExit(how),
    };
    const begin = (): void => {
      pending.counts = true;
      keepAlive(spawner);
    };
    spawner.pending.set(id, pending);
    keepAlive(spawner);
    // A failure to send comes with the end of the spawner, which settles all that is pending.
    spawner.child.send({ ...command, ...filterOf(command), id } satisfies ToSpawner, () => undefined);
  });
}

/** Running children keep this process alive; the spawner by itself does not. */
function keepAlive({ child, pending }: Spawner): void {
  if ([...pending.values()].some(({ counts }) => counts)) child.channel?.ref();
  else child.channel?.unref();
}

function filterOf({ argv }: Command): Pick<ToSpawner, 'filter'> {
  const filter = argv[1] === FILTERED[0] ? keyringFilter() : null;
  return filter ? { filter: filter.toString('base64') } : {};
}

function openSpawner(env: Readonly<Record<string, string>>): Spawner {
  const child = fork(fileURLToPath(new URL('./spawner-process.mjs', import.meta.url)), [String(process.pid)], {
    env: { ...env },
    cwd: '/',
    // Keep it out of our group: a signal of the terminal is for us to act on.
    detached: true,
    execArgv: [],
    // A Node that exits puts a terminal back as it found it, and would undo what we have put right
    // since.
    stdio: ['ignore', 'ignore', process.stderr.isTTY ? 'pipe' : 'inherit', 'ipc'],
  });
  if (child.stderr instanceof Socket) child.stderr.unref().pipe(process.stderr, { end: false });
  const spawner: Spawner = { child, pending: new Map() };
  const onExit = (): void => rejectPending(spawner);
  child.once('error', onExit).once('exit', onExit);
  child.on('message', (message) => settleCommand(spawner, message as FromSpawner));
  child.unref();
  return spawner;
}

function settleCommand(spawner: Spawner, message: FromSpawner): void {
  const { id } = message;
  const command = spawner.pending.get(id);
  if (message.kind === 'started') command?.started({ pid: message.pid, startTime: message.startTime });
  else if (message.kind === 'refused') command?.refused(systemError(message.message, message.code));
  else command?.ended({ code: message.code, signal: message.signal });
  if (message.kind !== 'started') spawner.pending.delete(id);
  keepAlive(spawner);
}

/**
 * Rejects all pending commands. What a sandbox held ended with the spawner; the next command gets
 * another spawner.
 */
function rejectPending(spawner: Spawner): void {
  if (current === spawner) current = null;
  for (const command of spawner.pending.values()) {
    command.refused(systemError('the process that starts commands has ended', SPAWNER_GONE));
    command.ended({ code: null, signal: 'SIGKILL' });
  }
  spawner.pending.clear();
}

function systemError(message: string, code: string | undefined): Error {
  return Object.assign(new Error(message), code === undefined ? {} : { code });
}
