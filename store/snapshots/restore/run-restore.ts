// Runs the program that writes a folder, held: it may write to that folder, and to the session's
// own one in the data folder. The request lies there while it is under way, and names the temporary
// files that are to be removed when it was killed.
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { writeJsonFile } from '../../../system/json.ts';
import { pathOfBuiltFile } from '../../../system/process/places.ts';
import { nameTree, type RunHeld, shadowEnvironment, type ShadowPlace } from '../shadow.ts';
import { REQUESTS } from './temporary-names.ts';
import type { RestoreAnswer, RestoreRequest } from './restore-folder.ts';
import type { RestoreLine } from './restore-process.ts';

export type RestoreMeans = {
  readonly place: ShadowPlace;
  /** The path of git. */
  readonly git: string;
  readonly run: RunHeld;
};

/** Rejects with a sentence, also for an invalid id of a snapshot. */
export async function runRestore(
  means: RestoreMeans,
  options: Omit<RestoreRequest, 'place' | 'git' | 'run'>,
): Promise<RestoreAnswer> {
  const { place, git } = means;
  for (const id of [options.to, options.from, options.known]) if (id !== null) nameTree(id, 'files');
  const request: RestoreRequest = { ...options, place, git, run: randomBytes(4).toString('hex') };
  // The folder of a fork is made anew after a kill.
  const path = options.written === null ? join(place.own, REQUESTS.checkOut) : requestFile(place);
  writeJsonFile(path, request, 'not durable');
  const answer = await runProgram(means, { do: 'restore', request: path, root: place.root, to: options.to });
  await rm(path, { force: true });
  return answer;
}

/** Removes the temporary files that a restore which was killed has left in the folder. */
export async function clearLeft(means: RestoreMeans): Promise<void> {
  const path = requestFile(means.place);
  if (!existsSync(path)) return;
  await runProgram(means, { do: 'clear', request: path, root: means.place.root, to: '' });
  await rm(path, { force: true });
}

const requestFile = ({ own }: ShadowPlace): string => join(own, REQUESTS.rewind);

async function runProgram({ run, place }: RestoreMeans, line: RestoreLine): Promise<RestoreAnswer> {
  const program = [process.execPath, pathOfBuiltFile('store/snapshots/restore/restore-process.js')];
  const printed = await run([...program, JSON.stringify(line)], {
    env: shadowEnvironment(),
    cwd: place.own,
    writes: place.root,
  });
  return JSON.parse(printed) as RestoreAnswer;
}
