// Finds a Temporal server to run, or gets one: from PATH, our cache, the SDK's own download, a Go
// build. Each step that gives none says why, and the last sentence lists them all.
import { readdirSync } from 'node:fs';
import { delimiter, dirname, isAbsolute, join } from 'node:path';
import { findPrograms, isExecutable, type Programs } from '../../system/process/programs.ts';
import { downloadBinary, type BinarySource } from './fetch-binary.ts';
import { checkBinary, forgetBinary, recordBinary } from './binary-checksum.ts';
import { buildBinary } from './build-binary.ts';
import { cacheFolderOf, type Env } from '../../connection/data-folder.ts';
import { withLock } from '../../system/process/file-lock.ts';
import { SetupProblem } from '../../system/setup-problem.ts';
import { type Binary, binaryVersion, versionProblem } from './binary-version.ts';

export type FindBinary = {
  readonly env: Env;
  /** The server version that made the database; null for a new one. */
  readonly wanted: string | null;
  /** Reports progress to a person, one line each. */
  readonly say: (line: string) => void;
  /** Absent: the programs of `env`. */
  readonly programs?: Programs;
  /** The steps that get a missing binary, in order. */
  readonly sources?: readonly BinarySource[];
};

const WAIT_FOR_BUILD_MS = 30 * 60_000;

/** Throws SetupProblem that says what was tried, why it did not do, and what to do. */
export async function findBinary(given: FindBinary): Promise<Binary> {
  const find = { ...given, programs: given.programs ?? findPrograms(given.env) };
  const cache = join(cacheFolderOf(find.env), 'bin');
  const here = await firstSuitable(find, cache, [
    ...find.programs.folders.map(temporalIn).filter(isExecutable),
    ...listCached(cache),
  ]);
  if (here.binary !== null) return here.binary;
  const lock = {
    doing: 'getting a Temporal server',
    waitMs: WAIT_FOR_BUILD_MS,
    onWait: (pid: number) => find.say(`waiting for process ${pid}, which downloads or builds a Temporal server`),
  };
  return withLock(join(cache, '.lock'), lock, () =>
    getBinary(find, cache, [...here.problems, ...listPassedOver(find)]),
  );
}

type FindWithPrograms = FindBinary & { readonly programs: Programs };

async function getBinary(find: FindWithPrograms, cache: string, problems: readonly string[]): Promise<Binary> {
  const meanwhile = await firstSuitable(find, cache, listCached(cache));
  if (meanwhile.binary !== null) return meanwhile.binary;
  const tried = problems.length > 0 ? [...problems] : [`no \`temporal\` on PATH or in ${cache}`];
  for (const source of find.sources ?? [downloadBinary, buildBinary]) {
    const got = await source({ into: cache, programs: find.programs, say: find.say });
    if ('path' in got && isIn(cache, got.path)) forgetBinary(got.path);
    const result =
      'path' in got ? await firstSuitable(find, cache, [got.path]) : { binary: null, problems: [got.problem] };
    if (result.binary !== null) return result.binary;
    for (const problem of result.problems) find.say(problem);
    tried.push(...result.problems);
  }
  throw new SetupProblem(
    ['no Temporal server to run:', ...tried.map((line) => `  - ${line}`), describeRemedy(find.wanted)].join('\n'),
  );
}

function describeRemedy(wanted: string | null): string {
  const which = wanted === null ? '' : ` with server ${wanted.replace(/\.\d+$/, '')}`;
  return `Install the Temporal CLI${which} (https://docs.temporal.io/cli) or Go, or set TEMPORAL_ADDRESS to a server that runs.`;
}

async function firstSuitable({ programs, wanted }: FindWithPrograms, cache: string, paths: readonly string[]) {
  const problems: string[] = [];
  for (const path of paths) {
    // Binaries on PATH lie where an agent cannot write, and belong to their package manager.
    const isNew = isIn(cache, path) && (await checkBinary(path)) === 'unknown';
    const version = await binaryVersion(path, programs);
    const problem = 'problem' in version ? version.problem : versionProblem(version.server, wanted);
    if (problem === undefined && 'server' in version) {
      if (isNew) await recordBinary(path);
      return { binary: { path, server: version.server }, problems };
    }
    problems.push(`${path} ${problem}`);
  }
  return { binary: null, problems };
}

const isIn = (cache: string, path: string): boolean => dirname(path) === cache;

const temporalIn = (folder: string): string => join(folder, 'temporal');

/** Lists binaries that are not taken, so that a person who has installed one is told why. */
function listPassedOver({ env, programs }: FindWithPrograms): readonly string[] {
  const folders = (env['PATH'] ?? '').split(delimiter).filter(isAbsolute);
  const others = folders.filter((folder) => !programs.folders.includes(folder)).map(temporalIn);
  return [...new Set(others)]
    .filter(isExecutable)
    .map((path) => `${path} lies where an agent may write: put it into /usr/local/bin`);
}

/** Lists cached binaries: `temporal` first; others, such as the SDK's download, by name. */
function listCached(cache: string): readonly string[] {
  const names = listNames(cache).filter((name) => /^temporal(-[\w.-]+)?$/.test(name));
  return names
    .toSorted()
    .map((name) => join(cache, name))
    .filter(isExecutable);
}

function listNames(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
