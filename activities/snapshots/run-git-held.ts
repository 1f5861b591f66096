// Runs git on the shadow repository for a worker, held as the commands of agents are.
import { pipePlace } from '../../system/process/pipes.ts';
import { runProgram } from '../../system/process/spawn-piped.ts';
import { snapshotsFolderOf } from '../../store/snapshots/shadow.ts';
import { OutOfBounds } from '../../store/snapshots/folder-index.ts';
import type { RunHeld } from '../../store/snapshots/take-snapshot.ts';
import type { Sandbox } from '../../tools/sandbox.ts';

/** A folder that takes longer than that is not captured. */
const LONGEST_MS = 120_000;
const MOST_PRINTED = 64 * 1024 * 1024;

type HeldOptions = { readonly sandbox: Sandbox; readonly dataDir: string };

/**
 * Runs git as an agent's command is run: it reads what the agent may read, and writes to the shadow
 * repository and to the folder that is restored.
 */
export function runGitHeld({ sandbox, dataDir }: HeldOptions, signal: AbortSignal): RunHeld {
  return async (argv, { env, cwd, writes, timeoutMs = LONGEST_MS }) => {
    const folders = writes === undefined ? [] : [writes];
    const wrapped = sandbox.wrap(argv, { cwd: snapshotsFolderOf(dataDir), folders, dir: cwd, dataDir, offline: true });
    const { cut, exit, stdout, stderr } = await runProgram(wrapped, {
      env: { ...sandbox.programs.environment(), ...env },
      cwd,
      pipes: pipePlace(sandbox.programs, dataDir),
      signal,
      timeoutMs,
      mostOutput: MOST_PRINTED,
      encoding: 'latin1',
    });
    signal.throwIfAborted();
    if (cut === undefined && exit.code === 0) return stdout;
    if (cut === 'time') throw new OutOfBounds(`it took longer than ${timeoutMs / 1000} s`);
    if (cut === 'output') throw new OutOfBounds(`git printed more than ${MOST_PRINTED} bytes`);
    throw new Error(stderr.trim() || `git ended with ${exit.signal ?? `status ${exit.code}`}`);
  };
}
