// Merges what an agent made of files with what they are in a checkout, all of them by one script.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ShadowReading } from '../../../store/snapshots/compare.ts';
import { readBlobs } from '../../../store/snapshots/read-blobs.ts';
import { onOneLine } from '../../../system/text.ts';
import { ClientProblem } from '../../problem.ts';
import type { RunInFolder } from './read-shadow.ts';

export type MergePorts = {
  readonly reading: ShadowReading;
  readonly runIn: RunInFolder;
  /** The data folder, where versions of a file are merged: no command of an agent writes there. */
  readonly root: string;
};

/** Three versions of a file; the blobs are those of snapshots, and none stands for an empty one. */
export type Versions = { readonly here: Buffer; readonly base: string | null; readonly wanted: string };

/** Null where a version is not text. */
export type Merged = { readonly content: Buffer; readonly isClean: boolean } | null;

/** Git's status counts the conflicts, and from 128 on it tells of a failure. */
const SCRIPT = `count=$1; git=$2; at=0
while [ $at -lt $count ]; do
  if [ -e $at.wanted ]; then
    "$git" merge-file -p -L here -L 'before the agent' -L agent $at.here $at.base $at.wanted > $at.merged
    status=$?; [ $status -lt 128 ] || exit $status
    [ $status -eq 0 ] || : > $at.marked
  fi
  at=$((at + 1))
done`;

const NO_SETTINGS = { GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null', LC_ALL: 'C' };
const LONGEST_MS = 30 * 60_000;

/** Returns what became of each, in order. Throws ClientProblem where git cannot merge. */
export async function mergeFiles(ports: MergePorts, all: readonly Versions[]): Promise<readonly Merged[]> {
  if (all.length === 0) return [];
  const place = await mkdtemp(join(ports.root, 'merge-'));
  try {
    await writeVersions(ports, place, all);
    const argv = ['sh', '-c', SCRIPT, 'sh', String(all.length), ports.reading.git];
    const { exit, stderr } = await ports.runIn(argv, place, NO_SETTINGS, LONGEST_MS);
    if (exit.code !== 0)
      throw new ClientProblem('refused', `git merge-file failed: ${onOneLine(stderr.trim()) || `${exit.code}`}`);
    const merged: Merged[] = [];
    for (const at of all.keys()) merged.push(await readMerged(join(place, String(at))));
    return merged;
  } finally {
    await rm(place, { recursive: true, force: true });
  }
}

/** Writes the versions of those files of which all are text. */
async function writeVersions({ reading }: MergePorts, place: string, all: readonly Versions[]): Promise<void> {
  const ids = all.flatMap(({ base, wanted }) => [...(base === null ? [] : [base]), wanted]);
  const contents = readBlobs(reading, ids);
  const next = async (): Promise<Buffer> => {
    const read = await contents.next();
    return read.done === true ? Buffer.alloc(0) : read.value[1];
  };
  for (const [at, { here, base }] of all.entries()) {
    const versions = { here, base: base === null ? Buffer.alloc(0) : await next(), wanted: await next() };
    if (Object.values(versions).some((version) => version.includes(0))) continue;
    for (const [name, version] of Object.entries(versions)) await writeFile(join(place, `${at}.${name}`), version);
  }
}

async function readMerged(file: string): Promise<Merged> {
  const readIfThere = (end: string): Promise<Buffer | null> => readFile(`${file}.${end}`).catch(() => null);
  const content = await readIfThere('merged');
  return content && { content, isClean: (await readIfThere('marked')) === null };
}
