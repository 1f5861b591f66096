// Finds a Temporal server to run, or gets one: PATH, our cache, the SDK's own download, a Go build.
// Each step that does not give one says why, and the last sentence lists them all.
import { readdirSync } from 'node:fs';
import { delimiter, dirname, isAbsolute, join } from 'node:path';
import { execFile } from 'node:child_process';
import { findPrograms, isExecutable, type Programs } from '../../system/process/programs.ts';
import {
  checkBinary,
  forgetBinary,
  recordBinary,
  buildBinary,
  downloadBinary,
  type BinarySource,
} from './fetch-binary.ts';
import { cacheFolder, type Env } from '../../connection/data-folder.ts';
import { withLock } from './file-lock.ts';
import { releaseOf, sameSchema } from './server-record.ts';
import { SetupProblem } from '../../system/setup-problem.ts';

export type FindBinary = {
  readonly env: Env;
  /** The server version that made the database; null for a new one. */
  readonly wanted: string | null;
  /** Progress for a person, one line each. */
  readonly say: (line: string) => void;
  /** Absent: those of `env`. */
  readonly programs?: Programs;
  /** The steps that get what is not here, in order. */
  readonly sources?: readonly BinarySource[];
};

const WAIT_FOR_BUILD_MS = 30 * 60_000;

/** Throws SetupProblem: what was tried, why it did not do, what to do. */
export async function findBinary(given: FindBinary): Promise<Binary> {
  const find = { ...given, programs: given.programs ?? findPrograms(given.env) };
  const cache = join(cacheFolder(find.env), 'bin');
  const here = await firstSuitable(find, cache, [
    ...find.programs.folders.map(temporalIn).filter(isExecutable),
    ...inCache(cache),
  ]);
  if (here.binary !== null) return here.binary;
  const lock = {
    doing: 'getting a Temporal server',
    waitMs: WAIT_FOR_BUILD_MS,
    onWait: (pid: number) => find.say(`waiting for process ${pid}, which downloads or builds a Temporal server`),
  };
  return withLock(join(cache, '.lock'), lock, () => get(find, cache, [...here.problems, ...passedOver(find)]));
}

type Find = FindBinary & { readonly programs: Programs };

export async function get(find: Find, cache: string, problems: readonly string[]): Promise<Binary> {
  const meanwhile = await firstSuitable(find, cache, inCache(cache));
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
    ['no Temporal server to run:', ...tried.map((line) => `  - ${line}`), remedy(find.wanted)].join('\n'),
  );
}

function remedy(wanted: string | null): string {
  const which = wanted === null ? '' : ` with server ${wanted.replace(/\.\d+$/, '')}`;
  return `Install the Temporal CLI${which} (https://docs.temporal.io/cli) or Go, or set TEMPORAL_ADDRESS to a server that runs.`;
}

async function firstSuitable({ programs, wanted }: Find, cache: string, paths: readonly string[]) {
  const problems: string[] = [];
  for (const path of paths) {
    // Those on PATH lie where an agent cannot write, and are their package manager's.
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

/** A person who has installed one is told why it is not taken. */
function passedOver({ env, programs }: Find): readonly string[] {
  const folders = (env['PATH'] ?? '').split(delimiter).filter(isAbsolute);
  const others = folders.filter((folder) => !programs.folders.includes(folder)).map(temporalIn);
  return [...new Set(others)]
    .filter(isExecutable)
    .map((path) => `${path} lies where an agent may write: put it into /usr/local/bin`);
}

/** `temporal` first; others, such as the SDK's download, by name. */
function inCache(cache: string): readonly string[] {
  const names = listed(cache).filter((name) => /^temporal(-[\w.-]+)?$/.test(name));
  return names
    .toSorted()
    .map((name) => join(cache, name))
    .filter(isExecutable);
}

function listed(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

// Which Temporal server a `temporal` binary holds, and whether it will do.

/**
 * A `temporal` that can be started; `server` is the version of the server in it, such as 1.29.1.
 */
export type Binary = { readonly path: string; readonly server: string };

/** The oldest server that the tuning and the flags were measured with. */
const OLDEST = [1, 29] as const;

/** The server's version, or why there is none to be had. */
async function binaryVersion(path: string, programs: Programs): Promise<{ server: string } | { problem: string }> {
  const said = await run(path, programs);
  const version = /\bServer (\d+\.\d+\.\d+)/.exec(said)?.[1];
  return version === undefined ? { problem: 'does not say which server it holds' } : { server: version };
}

/**
 * Undefined when it will do. `wanted` is the version that made the database, null for a new one.
 */
function versionProblem(server: string, wanted: string | null): string | undefined {
  const [major, minor] = releaseOf(server);
  if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1]))
    return `holds server ${server}, ${OLDEST.join('.')} or newer is needed`;
  if (wanted !== null && !sameSchema(server, wanted))
    return `holds server ${server}, the database was made by ${wanted}`;
  return undefined;
}

function run(path: string, programs: Programs): Promise<string> {
  return new Promise((resolve) => {
    execFile(path, ['--version'], { env: programs.environment(), cwd: '/', timeout: 10_000 }, (_error, stdout) =>
      resolve(stdout),
    );
  });
}
