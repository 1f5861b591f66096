// Runs git on the shadow repository for a worker, held as the commands of agents are.
import type { Confinement } from '../../system/process/bwrap.ts';
import { realOf } from '../../system/process/places.ts';
import { nameFullDisk } from '../../system/full-disk.ts';
import { clip, codeOf, describeExit, onOneLine } from '../../system/text.ts';
import { pipePlace } from '../../system/process/pipes.ts';
import { runProgram } from '../../system/process/spawn-piped.ts';
import { requireOwnSettings, snapshotsFolderOf } from '../../store/snapshots/shadow.ts';
import { OutOfBounds } from '../../store/snapshots/folder-index.ts';
import type { RunHeld } from '../../store/snapshots/take-snapshot.ts';
import type { Sandbox } from '../../tools/sandbox.ts';
import { GitProblem } from '../worktrees/held-git.ts';

/** A folder that takes longer than that is not captured. */
export const LONGEST_CAPTURE_MS = 120_000;
const MOST_PRINTED = 64 * 1024 * 1024;

type HeldOptions = { readonly sandbox: Sandbox; readonly dataDir: string };

/** Statuses above it say that a signal has ended a program that a shell ran. */
const LAST_STATUS = 128;
const FILE_CODES = ['EACCES', 'EPERM', 'EROFS', 'ENOSPC', 'EDQUOT', 'ENOTDIR', 'ENAMETOOLONG', 'ELOOP'];

/** Tells whether git or the file system has refused, so that the next attempt meets the same. */
export function isGitRefusal(error: unknown): error is Error {
  return error instanceof GitProblem || error instanceof OutOfBounds || FILE_CODES.includes(codeOf(error) ?? '');
}

/**
 * Runs git as an agent's command is run: it reads what the agent may read, and writes to the shadow
 * repository; what writes to a folder of the agent writes to that alone, and to `cwd`. Rejects with
 * a GitProblem when git ends with an error, with another one when it was killed.
 */
export function runGitHeld({ sandbox, dataDir }: HeldOptions, signal: AbortSignal): RunHeld {
  return async (argv, { env, cwd, writes, timeoutMs = LONGEST_CAPTURE_MS }) => {
    requireOwnSettings(snapshotsFolderOf(dataDir));
    const confinement = confine(dataDir, cwd, writes);
    const { cut, exit, stdout, stderr } = await runProgram(() => sandbox.wrap(argv, confinement), {
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
    const words = nameFullDisk(onOneLine(stderr.trim()), snapshotsFolderOf(dataDir));
    const problem = clip(words, 300) || `git ended with ${describeExit(exit)}`;
    const isKilled = exit.signal !== null || (exit.code ?? 0) > LAST_STATUS;
    throw isKilled ? new Error(problem) : new GitProblem(problem, exit.code);
  };
}

/** What writes files of a workspace reads the repository, and writes to `cwd`, which is in it. */
function confine(dataDir: string, cwd: string, writes: string | undefined): Confinement {
  const gitDir = snapshotsFolderOf(dataDir);
  const [repository, own] = [realOf(gitDir) ?? gitDir, realOf(cwd) ?? cwd];
  const common = { dir: own, dataDir, offline: true, alone: true };
  if (writes === undefined) return { ...common, cwd: repository };
  return { ...common, cwd: own, folders: [writes], readable: [repository] };
}
