// The option --unconfined of commands that bring up a worker, and the question that takes its place
// at a terminal on macOS, where nothing can confine commands of agents.
// The option --dump-requests of commands that bring up a worker: the folder for the requests that
// it sends to the model.
import { resolve } from 'node:path';
import { type Env, openDataFolder } from '../../connection/data-folder.ts';
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

export type DumpFlags = { readonly dumpRequests?: string; readonly dumpReadable?: boolean };

export const DUMP_OPTION = [
  '--dump-requests <dir>',
  'write each request to the model, without keys, to a JSON file in this folder',
] as const;

export const DUMP_READABLE_OPTION = [
  '--dump-readable',
  'that folder may lie where commands of the agent can read it',
] as const;

type Place = { readonly env: Env; readonly cwd: () => string };

/** Adds to the environment what makes a worker dump its requests. Throws SetupProblem. */
export async function withDump<At extends Place>(
  place: At,
  { dumpRequests, dumpReadable = false }: DumpFlags,
): Promise<At> {
  if (dumpRequests === undefined && !dumpReadable) return place;
  if (dumpRequests === undefined) throw new SetupProblem('--dump-readable goes with --dump-requests: add the folder');
  const { DUMP, dumpFolder } = await import('../../worker/monitor/dump-requests.ts');
  const dumpEnv = { [DUMP.folder]: resolve(place.cwd(), dumpRequests), [DUMP.readable]: dumpReadable ? '1' : '' };
  const env = { ...place.env, ...dumpEnv };
  // Check now, before anything begins, what the worker would refuse.
  dumpFolder(env, openDataFolder(env).root);
  return { ...place, env };
}

/** Throws SetupProblem: another worker does the work, and it was started without the option. */
export function refuseForOthers({ dumpRequests }: DumpFlags): void {
  if (dumpRequests === undefined) return;
  throw new SetupProblem('a worker that stays sends the requests: stop it, or start it with --dump-requests instead');
}
