// The option --dump-requests of commands that bring up a worker: the folder for the requests that
// it sends to the model.
import { resolve } from 'node:path';
import { openDataFolder, type Env } from '../../connection/data-folder.ts';
import { SetupProblem } from '../../system/setup-problem.ts';

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
