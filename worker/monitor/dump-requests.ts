// Writes each request to the model as it is sent, for debugging: one JSON file each, in a folder
// that only the worker's user can read.
import { lstatSync, mkdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import { betasOf } from '../../activities/model/request.ts';
import type { ModelRequestSeen, Observe } from '../../store/live/observe.ts';
import { isInside, realOf } from '../../system/process/places.ts';
import { reasonOf } from '../../system/text.ts';
import type { Redact } from '../../system/redact.ts';
import { createRedactor } from '../redact.ts';
import { SetupProblem } from '../../system/setup-problem.ts';

/** The variables that `--dump-requests` and `--dump-readable` stand for. */
export const DUMP = { folder: 'PERDURE_DUMP_REQUESTS', readable: 'PERDURE_DUMP_READABLE' } as const;

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Returns the folder, made if need be, or null where none is wanted. Throws SetupProblem for one
 * that others, or commands of the agent, could read.
 */
export function dumpFolder(env: Env, dataDir: string): string | null {
  const folder = env[DUMP.folder]?.trim() ?? '';
  if (folder === '') return null;
  openFolder(folder, env[DUMP.readable] === '1', dataDir);
  return folder;
}

/** Returns null where dumps are not wanted. Throws SetupProblem as `dumpFolder` does. */
export function observeByDump(env: Env, dataDir: string): Observe | null {
  const folder = dumpFolder(env, dataDir);
  if (folder === null) return null;
  const redact = createRedactor(env);
  let count = 0;
  return (observation) => {
    if (observation.kind === 'model_request') writeRequest(folder, observation, (count += 1), redact);
  };
}

function openFolder(folder: string, mayBeRead: boolean, dataDir: string): void {
  const named = `the folder for requests, ${folder},`;
  if (!isAbsolute(folder)) throw new SetupProblem(`${named} is no absolute path: give one`);
  if (!mayBeRead && !isInside(realPlace(dataDir), realPlace(resolve(folder)))) {
    const inside = join(dataDir, 'requests');
    throw new SetupProblem(
      `${named} could be read by commands of the agent: give one in the data folder, such as ${inside}, or set ${DUMP.readable}=1 (--dump-readable)`,
    );
  }
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const found = lstatSync(folder);
    if (!found.isDirectory()) throw new SetupProblem(`${named} is not a folder: give another`);
    if ((found.mode & 0o077) !== 0) throw new SetupProblem(`${named} is open to other users: chmod 700 ${folder}`);
  } catch (error) {
    if (error instanceof SetupProblem) throw error;
    throw new SetupProblem(`${named} cannot be made: ${reasonOf(error)}`, { cause: error });
  }
}

/** Returns where a path leads that need not exist. */
function realPlace(path: string): string {
  return realOf(path) ?? join(realPlace(dirname(path)), basename(path));
}

/** Writes a request before it is sent, so that one that takes the worker with it is kept. */
function writeRequest(folder: string, { at, about, body }: ModelRequestSeen, count: number, redact: Redact): void {
  const { session, run, iteration, step, attempt } = about;
  const request = {
    at: new Date(at).toISOString(),
    session,
    run,
    iteration,
    step,
    attempt,
    betas: betasOf(body),
    body,
  };
  const time = request.at.replaceAll(':', '-');
  const name = `${time}-${process.pid}-${String(count).padStart(6, '0')}.json`;
  writeFileSync(join(folder, name), `${redact(JSON.stringify(request, null, 2))}\n`, { mode: 0o600, flag: 'wx' });
}
