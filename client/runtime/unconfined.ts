// The option --unconfined of commands that bring up a worker, and the question that takes its place
// at a terminal on macOS, where nothing can confine commands of agents.
import type { Env } from '../../connection/data-folder.ts';
import { SetupProblem } from '../../system/setup-problem.ts';
import type { PerdureConfig } from '../../worker/config/config.ts';

export type UnconfinedFlag = { readonly unconfined?: boolean };

export const UNCONFINED_OPTION = [
  '--unconfined',
  'run commands of the agent also where bubblewrap does not work, with all that your user may do (default: refuse them)',
] as const;

/** Adds to the environment what lets a worker of this process run commands unconfined. */
export async function withUnconfined<At extends { readonly env: Env }>(
  place: At,
  { unconfined = false }: UnconfinedFlag,
): Promise<At> {
  if (!unconfined) return place;
  const { UNCONFINED_VARIABLE } = await import('../../worker/config/unconfined.ts');
  return { ...place, env: { ...place.env, [UNCONFINED_VARIABLE]: '1' } };
}

/** Throws SetupProblem: another worker runs the commands, and it was started without the option. */
export function refuseUnconfinedForOthers({ unconfined = false }: UnconfinedFlag): void {
  if (!unconfined) return;
  throw new SetupProblem('a worker that stays runs the commands: stop it, or start it with --unconfined instead');
}

type UnconfinedQuestion = {
  readonly text: string;
  /** Keeps the answer in the user's configuration, and returns a line that says so. */
  readonly keep: (allowed: boolean) => string;
};

/** Returns the question whether commands may run; null where it needs no answer, or has one. */
export async function findUnconfinedQuestion(
  config: PerdureConfig,
  env: Env,
  platform: NodeJS.Platform = process.platform,
): Promise<UnconfinedQuestion | null> {
  if (platform !== 'darwin') return null;
  const { findPermission, keepAnswer } = await import('../../worker/config/unconfined.ts');
  if (findPermission(config.sandbox, env, platform) !== null) return null;
  return {
    text:
      "Nothing confines the agent's commands on macOS: one that you allow can read Perdure's keys and your files. " +
      'Run commands all the same? [y]es, Enter: no ',
    keep: (allowed) => {
      const path = keepAnswer(env, allowed);
      return `commands are ${allowed ? 'run unconfined' : 'refused'} from now on; change that in ${path}`;
    },
  };
}
