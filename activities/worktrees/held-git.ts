// Runs git for the worker on a repository that is not trusted: held as an agent's command is,
// without a network, with none of the repository's hooks, and with its configuration only where
// refs and work trees are made.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { clip, describeExit, onOneLine, reasonOf } from '../../system/text.ts';
import { gitEnvironment } from '../../system/process/environment.ts';
import { runProgram } from '../../system/process/spawn-piped.ts';
import { pipePlace, type PipePlace } from '../../system/process/pipes.ts';
import type { Sandbox } from '../../tools/sandbox.ts';
import type { WorktreePlace } from '../../store/worktree-record.ts';

export type HeldGit = {
  /**
   * Makes and resolves refs and work trees: the repository's configuration is read for its format.
   */
  refs(place: WorktreePlace, args: readonly string[], gitDir?: string): Promise<string>;
  /** Resolves a revision; null for one that does not exist. */
  resolve(place: WorktreePlace, revision: string, gitDir?: string): Promise<string | null>;
  /**
   * Stores and checks out files: git reads no configuration but an empty one, so that no filter is
   * defined.
   */
  files(place: WorktreePlace, args: readonly string[]): Promise<string>;
  /** Runs a helper on files of the place. */
  run(place: WorktreePlace, argv: readonly string[]): Promise<string>;
};

/** One line that git, or a helper, said. */
export class GitProblem extends Error {
  override readonly name = 'GitProblem';
  /** The status of the program that said it; null when none did. */
  readonly status: number | null;

  constructor(message: string, status: number | null = null) {
    super(message);
    this.status = status;
  }
}

/** Milliseconds for one command: a large repository takes its time to check out. */
const LONGEST_MS = 300_000;
const MOST_OUTPUT = 64 * 1024 * 1024;

const SETTINGS = [
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'core.attributesFile=/dev/null',
  'gc.auto=0',
  'maintenance.auto=false',
].flatMap((setting) => ['-c', setting]);

export function createHeldGit(sandbox: Sandbox, dataDir: string, signal: AbortSignal): HeldGit {
  const git = sandbox.programs.at('git');
  const runHeld = (
    { holder }: WorktreePlace,
    argv: readonly string[],
    { folders, env = {} }: { readonly folders: readonly string[]; readonly env?: Readonly<Record<string, string>> },
  ): Promise<string> => {
    const wrapped = () => sandbox.wrap(argv, { cwd: holder, folders, dataDir, offline: true });
    const pipes = pipePlace(sandbox.programs, dataDir);
    return readOutput(wrapped, { env: { ...sandbox.programs.environment(), ...env }, cwd: holder, pipes, signal });
  };
  const refs: HeldGit['refs'] = (place, args, gitDir = place.common) => {
    if (!existsSync(git)) return Promise.reject(new GitProblem('git is not installed on this worker'));
    return runHeld(place, [git, `--git-dir=${gitDir}`, ...SETTINGS, ...args], {
      folders: [place.common],
      env: gitEnvironment(),
    });
  };
  return {
    refs,
    resolve: async (place, revision, gitDir) => {
      const found = await refs(place, ['rev-parse', '--verify', '--quiet', revision], gitDir).catch(
        (error: unknown) => {
          // Git says nothing about a revision that does not exist.
          if (error instanceof GitProblem && error.status === 1) return '';
          throw error;
        },
      );
      return found === '' ? null : found;
    },
    files: async (place, args) => {
      const { holder, tree, common } = place;
      const objects = join(common, 'objects');
      const env = { ...gitEnvironment(), GIT_OBJECT_DIRECTORY: objects, GIT_INDEX_FILE: join(holder, 'index') };
      const excludes = ['-c', `core.excludesFile=${join(common, 'info', 'exclude')}`, '-c', 'core.bare=false'];
      const own = [`--git-dir=${join(holder, 'blank')}`, `--work-tree=${tree}`, ...SETTINGS, ...excludes];
      return await runHeld(place, [git, ...own, ...args], { folders: [objects], env });
    },
    run: (place, [name = '', ...args]) =>
      runHeld(place, [sandbox.programs.at(name), ...args], { folders: [place.common] }),
  };
}

type RunOptionsOfGit = {
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly pipes: PipePlace;
  readonly signal: AbortSignal;
};

/** Runs a program. Rejects with a GitProblem, or with the signal's reason. */
async function readOutput(argv: () => readonly string[], running: RunOptionsOfGit): Promise<string> {
  running.signal.throwIfAborted();
  const limits = { timeoutMs: LONGEST_MS, mostOutput: MOST_OUTPUT };
  const { cut, exit, stdout, stderr } = await runProgram(argv, { ...running, ...limits }).catch((error: unknown) => {
    throw gitProblem(reasonOf(error), null);
  });
  if (cut === undefined && exit.code === 0) return stdout.trimEnd();
  running.signal.throwIfAborted();
  const tooMuch = cut === 'output' && `it printed more than ${MOST_OUTPUT} bytes`;
  const tooLong = cut === 'time' && `it took more than ${LONGEST_MS / 1000} s`;
  const status = `it ended with ${describeExit(exit)}`;
  throw gitProblem(tooMuch || tooLong || stderr.trim() || status, exit.code);
}

const gitProblem = (why: string, status: number | null): GitProblem =>
  new GitProblem(clip(onOneLine(why), 300), status);
