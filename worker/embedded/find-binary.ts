// Finds a Temporal server to run, or gets one: PATH, our cache, the SDK's own download, a Go build. Each step that does not
// give one says why, and the last sentence lists them all.
import { accessSync, constants, readdirSync, statSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import { type Binary, type BinarySource, binaryVersion, versionProblem } from './binary-version.ts';
import { buildBinary } from './build-binary.ts';
import { type Env, xdgFolder } from './data-folder.ts';
import { downloadBinary } from './download-binary.ts';
import { withLock } from './file-lock.ts';
import { SetupProblem } from './setup-problem.ts';

export type FindBinary = {
  readonly env: Env;
  /** The server version that made the database; null for a new one. */
  readonly wanted: string | null;
  /** Progress for a person, one line each. */
  readonly say: (line: string) => void;
  /** The steps that get what is not here, in order. */
  readonly sources?: readonly BinarySource[];
};

const WAIT_FOR_BUILD_MS = 30 * 60_000;

/** Throws SetupProblem: what was tried, why it did not do, what to do. */
export async function findBinary(find: FindBinary): Promise<Binary> {
  const cache = join(xdgFolder(find.env, 'XDG_CACHE_HOME', '.cache'), 'perdure', 'bin');
  const here = await firstSuitable(find, [...onPath(find.env), ...inCache(cache)]);
  if (here.binary !== null) return here.binary;
  const lock = {
    doing: 'getting a Temporal server',
    waitMs: WAIT_FOR_BUILD_MS,
    onWait: (pid: number) => find.say(`process ${pid} is getting a Temporal server: waiting for it`),
  };
  return withLock(join(cache, '.lock'), lock, () => get(find, cache, here.problems));
}

async function get(find: FindBinary, cache: string, problems: readonly string[]): Promise<Binary> {
  const meanwhile = await firstSuitable(find, inCache(cache));
  if (meanwhile.binary !== null) return meanwhile.binary;
  const tried = problems.length > 0 ? [...problems] : [`no \`temporal\` on PATH or in ${cache}`];
  for (const source of find.sources ?? [downloadBinary, buildBinary]) {
    const got = await source({ into: cache, env: find.env, say: find.say });
    const result = 'path' in got ? await firstSuitable(find, [got.path]) : { binary: null, problems: [got.problem] };
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

async function firstSuitable({ env, wanted }: FindBinary, paths: readonly string[]) {
  const problems: string[] = [];
  for (const path of paths) {
    const version = await binaryVersion(path, env);
    const problem = 'problem' in version ? version.problem : versionProblem(version.server, wanted);
    if (problem === undefined && 'server' in version) return { binary: { path, server: version.server }, problems };
    problems.push(`${path} ${problem}`);
  }
  return { binary: null, problems };
}

function onPath(env: Env): readonly string[] {
  const folders = (env['PATH'] ?? '').split(delimiter).filter(isAbsolute);
  return [...new Set(folders)].map((folder) => join(folder, 'temporal')).filter(isExecutable);
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

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
