// Runs one hook command: JSON on its standard input, its output collected. None of its processes
// are left when this returns, or when this process exits before that.
import { reasonOf } from '../../system/text.ts';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { runBuilt } from '../../system/process/bwrap.ts';
import { childEnvironment, withGitSettings, TOOLCHAIN_NAMES } from '../../system/process/environment.ts';
import { type ExitHandlers, killNow, killTree, ownProcessId } from '../../system/process/kill-tree.ts';
import type { Reach } from '../../system/process/places.ts';
import { pathOutside, worldWritableFolders } from '../../system/process/programs.ts';
import { spawnPiped, type PipedProcess } from '../../system/process/spawn-piped.ts';
import type { PipePlace } from '../../system/process/pipes.ts';

type HookCommand = {
  readonly command: string | readonly string[];
  /**
   * The working folder. With null the command gets an empty folder of its own, in `apart`, which is
   * removed with it.
   */
  readonly cwd: string | null;
  /** A folder that no other command writes to. It is made when it does not exist. */
  readonly apart: string;
  /** The other folders of the run, absolute real paths. */
  readonly folders?: readonly string[] | undefined;
  readonly input: string;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  /** The environment, of which the command gets an allow-listed part. */
  readonly env: NodeJS.ProcessEnv;
  readonly atExit: ExitHandlers;
  readonly pipes: PipePlace;
  /** Holds it as the agent's commands are held. */
  readonly hold?: CommandHold | undefined;
};

/**
 * `spares`: the started process is the sandbox's own, and it ends after its first command.
 * `refusal` says why nothing can be held here; null where it can.
 */
export type CommandHold = {
  readonly refusal: string | null;
  readonly wrap: (argv: readonly string[], reach: Reach) => readonly string[];
  readonly spares: boolean;
};

export type CommandEnd =
  | { readonly kind: 'exit'; readonly code: number | null; readonly stdout: string; readonly stderr: string }
  | { readonly kind: 'timeout' }
  | { readonly kind: 'stopped' }
  | { readonly kind: 'too_much' }
  | { readonly kind: 'not_started'; readonly detail: string };

const STDOUT_LIMIT = 1024 * 1024;
/** Bytes. More of it is read and dropped. */
const STDERR_LIMIT = 64 * 1024;
/**
 * Milliseconds to wait, after the command has ended, for output of the processes that it left
 * running.
 */
const DRAIN_MS = 200;
const GRACE_MS = 500;

export async function runHookCommand(run: HookCommand): Promise<CommandEnd> {
  if (run.cwd !== null) return runIn(run.cwd, run);
  let own: string;
  try {
    await mkdir(run.apart, { recursive: true, mode: 0o700 });
    own = await mkdtemp(join(run.apart, 'hook-'));
  } catch (error) {
    return { kind: 'not_started', detail: `it has no folder to run in: ${reasonOf(error)}` };
  }
  try {
    return await runIn(own, run);
  } finally {
    await rm(own, { recursive: true, force: true });
  }
}

async function runIn(cwd: string, run: HookCommand): Promise<CommandEnd> {
  const argv = typeof run.command === 'string' ? ['/bin/sh', '-c', run.command] : run.command;
  return await runBuilt(
    () => run.hold?.wrap(argv, { cwd, folders: run.folders }) ?? argv,
    (wrapped) => runHeld(wrapped, cwd, run),
    (end) => (end.kind === 'exit' ? `${end.stdout}${end.stderr}` : ''),
  );
}

async function runHeld(argv: readonly string[], cwd: string, run: HookCommand): Promise<CommandEnd> {
  const { pipes } = run;
  let child: PipedProcess;
  try {
    child = await spawnPiped(argv, { cwd, env: buildEnvironment(run, cwd, ownProcessId('hook')), pipes });
  } catch (error) {
    return { kind: 'not_started', detail: existsSync(cwd) ? reasonOf(error) : `the folder ${cwd} is gone` };
  }
  const release = run.atExit.add(() => killNow(child.tree));
  const output = collectOutput(child);
  try {
    child.stdin.end(run.input);
    return await awaitEnd(child, output, run);
  } finally {
    await killTree(child.tree, { graceMs: GRACE_MS, spareLeader: run.hold?.spares === true }).finally(release);
    child.stdout.destroy();
    child.stderr.destroy();
  }
}

/** Builds the environment. Outside the sandbox no program is found where the agent writes. */
function buildEnvironment(
  { env, hold, folders = [] }: HookCommand,
  cwd: string,
  callId: string,
): Record<string, string> {
  if (hold !== undefined) return withGitSettings(childEnvironment(env, { cwd, callId, pass: TOOLCHAIN_NAMES }));
  const own = withGitSettings(childEnvironment(env, { cwd, callId, pass: ['XDG_RUNTIME_DIR'] }));
  return { ...own, PATH: pathOutside(env, [cwd, ...folders, ...worldWritableFolders()]).join(delimiter) };
}

type Output = {
  /** Resolves when the command printed more than it may. */
  readonly tooMuch: Promise<void>;
  readonly drained: Promise<void>;
  texts(): { readonly stdout: string; readonly stderr: string };
};

function collectOutput({ stdout, stderr }: PipedProcess): Output {
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  const size = { out: 0, err: 0 };
  const tooMuch = new Promise<void>((resolve) => {
    stdout.on('data', (chunk: Buffer) => {
      size.out += chunk.length;
      if (size.out > STDOUT_LIMIT) resolve();
      else out.push(chunk);
    });
  });
  stderr.on('data', (chunk: Buffer) => {
    if (size.err < STDERR_LIMIT) err.push(chunk);
    size.err += chunk.length;
  });
  const closed = [stdout, stderr].map((stream) => new Promise<void>((resolve) => stream.once('close', resolve)));
  return {
    tooMuch,
    drained: Promise.all(closed).then(() => undefined),
    texts: () => ({
      stdout: Buffer.concat(out).toString('utf8'),
      stderr: Buffer.concat(err).subarray(0, STDERR_LIMIT).toString('utf8'),
    }),
  };
}

async function awaitEnd(child: PipedProcess, output: Output, { signal, timeoutMs }: HookCommand): Promise<CommandEnd> {
  const over = new AbortController();
  const exited = new Promise<CommandEnd>((resolve) => {
    void child.exit.then(async ({ code }) => {
      await Promise.race([output.drained, sleep(DRAIN_MS)]);
      resolve({ kind: 'exit', code, ...output.texts() });
    });
  });
  const stopped = new Promise<CommandEnd>((resolve) => {
    const stop = (): void => resolve({ kind: 'stopped' });
    signal.addEventListener('abort', stop, { once: true, signal: over.signal });
    if (signal.aborted) stop();
  });
  const late = sleep(timeoutMs, undefined, { signal: over.signal }).then(
    (): CommandEnd => ({ kind: 'timeout' }),
    (): CommandEnd => ({ kind: 'stopped' }),
  );
  try {
    const tooMuch = output.tooMuch.then((): CommandEnd => ({ kind: 'too_much' }));
    return await Promise.race([tooMuch, exited, stopped, late]);
  } finally {
    over.abort();
  }
}
