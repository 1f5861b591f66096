// Runs git on the shadow repository of this machine's data folder, for a client: its objects are
// read, and nothing of a workspace (T11).
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pipePlace } from '../../../system/process/pipes.ts';
import { findPrograms, isExecutable } from '../../../system/process/programs.ts';
import { runProgram } from '../../../system/process/spawn-piped.ts';
import { onOneLine } from '../../../system/text.ts';
import { snapshotsFolderOf } from '../../../store/snapshots/shadow.ts';
import type { Reading } from '../../../store/snapshots/compare.ts';
import type { RunHeld } from '../../../store/snapshots/take-snapshot.ts';
import { ClientProblem } from '../../problem.ts';

const LONGEST_MS = 120_000;
const MOST_PRINTED = 64 * 1024 * 1024;

/** Opens the repository. Throws ClientProblem `refused` without git, or without snapshots. */
export function openShadowReading(dataDir: string, env: Readonly<Record<string, string | undefined>>): Reading {
  const gitDir = snapshotsFolderOf(dataDir);
  if (!existsSync(join(gitDir, 'HEAD')))
    throw new ClientProblem(
      'refused',
      'no snapshots are on this machine: they are in the data folder of the worker that took them',
    );
  const programs = findPrograms(env);
  const git = programs.at('git');
  if (!isExecutable(git)) throw new ClientProblem('refused', 'git is not installed here, and snapshots are read by it');
  const run: RunHeld = async (argv, options) => {
    const { cut, exit, stdout, stderr } = await runProgram(argv, {
      ...options,
      env: { ...programs.environment(), ...options.env },
      pipes: pipePlace(programs, dataDir),
      timeoutMs: LONGEST_MS,
      mostOutput: MOST_PRINTED,
      encoding: 'latin1',
    });
    if (cut === undefined && exit.code === 0) return stdout;
    if (cut === 'output') throw new TooLarge(`this is more than ${MOST_PRINTED / 1024 ** 2} MB: name some paths`);
    if (cut === 'time') throw new ClientProblem('refused', `git took longer than ${LONGEST_MS / 1000} s: name some paths`);
    throw new ClientProblem('refused', `the snapshots cannot be read: ${onOneLine(stderr.trim()) || 'git failed'}`);
  };
  return { gitDir, git, run };
}

/** The problem with an answer of git that does not fit into memory. */
export class TooLarge extends ClientProblem {
  constructor(message: string) {
    super('refused', message);
  }
}
