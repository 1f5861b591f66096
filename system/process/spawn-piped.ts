// Runs a program with a pipe each for its input, output and errors. It is started as commands of
// the agent are, so that it ends, with all that it has started, when its worker is killed.
// `killTree` does not find a program that the worker starts for itself while its sandbox is being
// set up.
import { closeSync } from 'node:fs';
import { Socket } from 'node:net';
import { codeOf } from '../text.ts';
import { runBuilt } from './bwrap.ts';
import { CALL_VARIABLE } from './environment.ts';
import { bootId } from './identity.ts';
import { type KillTarget, killTree, ownProcessId } from './kill-tree.ts';
import { openPipes, type PipePlace } from './pipes.ts';
import { SPAWNER_GONE, spawnCommand, type StartedCommand, type TreeExit } from './spawner.ts';

export type PipedProcess = {
  readonly stdin: Socket;
  readonly stdout: Socket;
  readonly stderr: Socket;
  /** Resolves once the program is reaped. */
  readonly exit: Promise<TreeExit>;
  /**
   * Resolves with `exit` once all that was printed has been read as well. A killed program leaves
   * no process that could hold the pipes open.
   */
  closed(): Promise<TreeExit>;
  /** Names all its processes for killTree and killNow. */
  readonly tree: KillTarget;
};

type PipedOptions = {
  readonly cwd: string;
  /** Without CALL_VARIABLE the program is named as a helper of this worker. */
  readonly env: Readonly<Record<string, string>>;
  readonly pipes: PipePlace;
};

/** Rejects as `startCommand` does, and then leaves no process behind. */
export async function spawnPiped(argv: readonly string[], { cwd, env, pipes }: PipedOptions): Promise<PipedProcess> {
  const callId = env[CALL_VARIABLE] ?? ownProcessId('helper');
  const opened = await openPipes(pipes, ['in', 'out', 'err']);
  const [input, output, errors] = opened.pipes;
  let started: StartedCommand;
  try {
    const command = { argv, cwd, env: { ...env, [CALL_VARIABLE]: callId }, input, output, errors };
    started = await spawnCommand(command, pipes.programs.environment());
  } catch (error) {
    [input, output, errors].forEach(({ own }) => closeSync(own));
    if (codeOf(error) === SPAWNER_GONE) await killTree({ callId }, { graceMs: 0 });
    throw error;
  } finally {
    opened.unlink();
  }
  // A socket reads at once: who comes to it later may find that a short program has ended, and wait
  // for an end that was told already.
  return wrapStarted(started, callId, [input.own, output.own, errors.own]);
}

function wrapStarted(
  { pid, startTime, exit }: StartedCommand,
  callId: string,
  [input, output, errors]: readonly [number, number, number],
): PipedProcess {
  const stdin = new Socket({ fd: input, readable: false, writable: true });
  // Nothing else closes it: a pipe has no half that could be shut.
  stdin.once('finish', () => stdin.destroy());
  const stdout = new Socket({ fd: output, readable: true, writable: false });
  const stderr = new Socket({ fd: errors, readable: true, writable: false });
  // The exit tells how a pipe ended: a program need not read its input.
  for (const socket of [stdin, stdout, stderr]) socket.on('error', () => undefined);
  const read = [stdout, stderr].map((socket) => new Promise<void>((resolve) => void socket.once('close', resolve)));
  const tree = { callId, leader: { pid, startTime, bootId: bootId() }, fresh: true };
  const closed = async (): Promise<TreeExit> => {
    const end = await exit;
    // The sandbox, or the process that starts programs, may have been killed alone.
    if (end.signal !== null) await killTree(tree, { graceMs: 0 });
    await Promise.all(read);
    return end;
  };
  void exit.then(() => stdin.destroy());
  return { stdin, stdout, stderr, exit, closed, tree };
}

type BoundedRunOptions = PipedOptions & {
  readonly timeoutMs: number;
  /** Bytes that the program may print. */
  readonly mostOutput: number;
  readonly signal?: AbortSignal;
  /** `latin1` keeps every byte of what it prints. */
  readonly encoding?: 'utf8' | 'latin1';
};

export type ProgramEnd = {
  /** Why the program was ended; absent when it ended by itself. */
  readonly cut?: 'time' | 'output' | 'stopped';
  readonly exit: TreeExit;
  readonly stdout: string;
  readonly stderr: string;
};

/**
 * Runs a program without input to its end, and ends all its processes when it is stopped or goes
 * beyond its bounds. Arguments that are a function are built anew where a sandbox was not built.
 * Rejects as `startCommand` does.
 */
export async function runProgram(
  argv: readonly string[] | (() => readonly string[]),
  options: BoundedRunOptions,
): Promise<ProgramEnd> {
  if (typeof argv !== 'function') return await runOnce(argv, options);
  const outputOf = ({ cut, stdout, stderr }: ProgramEnd): string => (cut === undefined ? `${stdout}${stderr}` : '');
  return await runBuilt(argv, (built) => runOnce(built, options), outputOf);
}

async function runOnce(argv: readonly string[], options: BoundedRunOptions): Promise<ProgramEnd> {
  const { signal, timeoutMs, mostOutput, encoding = 'utf8' } = options;
  const program = await spawnPiped(argv, options);
  let cut: ProgramEnd['cut'];
  const end = (why: NonNullable<ProgramEnd['cut']>): void => {
    cut ??= why;
    void killTree(program.tree, { graceMs: 0 });
  };
  let printed = 0;
  const collect = (socket: Socket): (() => string) => {
    const parts: Buffer[] = [];
    socket.on('data', (bytes: Buffer) => {
      printed += bytes.length;
      if (printed > mostOutput) end('output');
      else parts.push(bytes);
    });
    return () => Buffer.concat(parts).toString(encoding);
  };
  const [stdout, stderr] = [collect(program.stdout), collect(program.stderr)];
  const stop = (): void => end('stopped');
  const timer = setTimeout(() => end('time'), timeoutMs);
  signal?.addEventListener('abort', stop, { once: true });
  if (signal?.aborted) stop();
  program.stdin.end();
  try {
    const exit = await program.closed();
    return { ...(cut && { cut }), exit, stdout: stdout(), stderr: stderr() };
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', stop);
  }
}
