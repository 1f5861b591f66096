// Runs git on the shadow repository of this machine's data folder, for a client: its objects are
// read, and nothing of a workspace (T11).
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pipePlace } from '../../../system/process/pipes.ts';
import { findPrograms, isExecutable } from '../../../system/process/programs.ts';
import { type ProgramEnd, runProgram } from '../../../system/process/spawn-piped.ts';
import { onOneLine } from '../../../system/text.ts';
import { snapshotsFolderOf } from '../../../store/snapshots/shadow.ts';
import type { ShadowReading } from '../../../store/snapshots/compare.ts';
import type { RunHeld } from '../../../store/snapshots/take-snapshot.ts';
import { ClientProblem } from '../../problem.ts';

const LONGEST_MS = 120_000;
const MOST_PRINTED = 64 * 1024 * 1024;

/** Runs a program in a folder to its end. Throws ClientProblem when it is cut. */
export type RunInFolder = (
  argv: readonly string[],
  cwd: string,
  env?: Readonly<Record<string, string>>,
  timeoutMs?: number,
) => Promise<ProgramEnd>;

type Environment = Readonly<Record<string, string | undefined>>;

/** Returns the path of git and a runner. Throws ClientProblem `refused` without git. */
export function findGit(dataDir: string, env: Environment): { readonly git: string; readonly runIn: RunInFolder } {
  const programs = findPrograms(env);
  const git = programs.at('git');
  if (!isExecutable(git)) throw new ClientProblem('refused', 'git is not installed here, and snapshots are read by it');
  return {
    git,
    runIn: async (argv, cwd, more = {}, timeoutMs = LONGEST_MS) => {
      const ended = await runProgram(argv, {
        cwd,
        env: { ...programs.environment(), ...more },
        pipes: pipePlace(programs, dataDir),
        timeoutMs,
        mostOutput: MOST_PRINTED,
        encoding: 'latin1',
      });
      if (ended.cut === undefined) return ended;
      if (ended.cut === 'output')
        throw new TooLarge(`this is more than ${MOST_PRINTED / 1024 ** 2} MB: name some paths`);
      throw new ClientProblem('refused', `git took longer than ${timeoutMs / 1000} s: name some paths`);
    },
  };
}

/** Opens the repository. Throws ClientProblem `refused` without git, or without snapshots. */
export function openShadowReading(dataDir: string, env: Environment, willBring = false): ShadowReading {
  const gitDir = snapshotsFolderOf(dataDir);
  if (!willBring && !existsSync(join(gitDir, 'HEAD')))
    throw new ClientProblem(
      'refused',
      'no snapshots are on this machine: they are in the data folder of the worker that took them',
    );
  const { git, runIn } = findGit(dataDir, env);
  const run: RunHeld = async (argv, options) => {
    const { exit, stdout, stderr } = await runIn(argv, options.cwd, options.env);
    if (exit.code === 0) return stdout;
    throw new ClientProblem('refused', `the snapshots cannot be read: ${onOneLine(stderr.trim()) || 'git failed'}`);
  };
  return { gitDir, git, run };
}

/** The problem with an answer of git that is too large. */
export class TooLarge extends ClientProblem {
  constructor(message: string) {
    super('refused', message);
  }
}
