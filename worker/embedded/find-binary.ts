// Finds a Temporal server to run, or gets one: from PATH, our cache, the SDK's own download, a Go
// build. Each step that gives none says why, and the last sentence lists them all.
import { createReadStream, existsSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, delimiter, dirname, isAbsolute, join } from 'node:path';
import { findPrograms, isExecutable, type Programs } from '../../system/process/programs.ts';
import { type BinarySource, downloadBinary, startProgram } from './fetch-binary.ts';
import { cacheFolderOf, type Env } from '../../connection/data-folder.ts';
import { withLock } from '../../system/process/file-lock.ts';
import { SetupProblem } from '../../system/setup-problem.ts';
import { createHash } from 'node:crypto';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import { codeOf } from '../../system/text.ts';
import { readJsonFile, writeJsonFile } from '../../system/json.ts';
import { execFile } from 'node:child_process';
import { releaseOf, sameSchema } from './server-record.ts';

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
export async function findBinary(options: FindBinary): Promise<Binary> {
  const find = { ...options, programs: options.programs ?? findPrograms(options.env) };
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

// Records the checksum of a server binary of our cache next to it, where commands of the agent
// cannot write, and refuses to start a binary that has changed. A file that looks untouched is not
// read again: 250 MB take a second.
const recordSchema = z.object({
  sha256: z.string(),
  /** Inode, size and times of the file that was read. A program cannot set the time of a change. */
  seen: z.string(),
});

const REMEDY = 'remove both files; the next start downloads or builds a server again';

/**
 * Checks a binary before it is started for anything. Resolves to `unknown` when nothing is
 * recorded. Throws SetupProblem when the binary is not the recorded one.
 */
async function checkBinary(path: string): Promise<'unchanged' | 'unknown'> {
  const record = recordPath(path);
  const file = readJsonFile(record, recordSchema);
  if (file.kind === 'absent') return 'unknown';
  if (file.kind === 'damaged')
    throw new SetupProblem(`${record}, the checksum of ${path}, is damaged (${file.why}): ${REMEDY}`);
  const current = identityOf(path);
  if (current === file.value.seen) return 'unchanged';
  if ((await sha256Of(path)) !== file.value.sha256)
    throw new SetupProblem(
      `${path} has changed since it was downloaded or built (${record} has another checksum): ${REMEDY}`,
    );
  saveRecord(path, { ...file.value, seen: current });
  return 'unchanged';
}

async function recordBinary(path: string): Promise<void> {
  // The identity is taken first: a change while the file is read makes it be read again.
  const current = identityOf(path);
  saveRecord(path, { sha256: await sha256Of(path), seen: current });
}

function saveRecord(path: string, record: z.infer<typeof recordSchema>): void {
  try {
    writeJsonFile(recordPath(path), record, 'not durable');
  } catch (error) {
    // The folder is read-only, as for a command in the sandbox: this process changes nothing there,
    // and the next one records it.
    if (!['EROFS', 'EACCES', 'EPERM'].includes(codeOf(error) ?? '')) throw error;
  }
}

/** Forgets the checksum, because another file was put there. */
function forgetBinary(path: string): void {
  rmSync(recordPath(path), { force: true });
}

const recordPath = (path: string): string => join(dirname(path), `.${basename(path)}.sha256.json`);

function identityOf(path: string): string {
  const { ino, size, mtimeNs, ctimeNs } = statSync(path, { bigint: true });
  return [ino, size, mtimeNs, ctimeNs].join(' ');
}

async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path, { highWaterMark: 1 << 20 }), hash);
  return hash.digest('hex');
}

/**
 * The newest version that `go install` takes: later ones replace modules. It holds server 1.29.1.
 */
const VERSION = 'v1.5.1';
const PACKAGE = `github.com/temporalio/cli/cmd/temporal@${VERSION}`;
const REPORT_MS = 30_000;

/**
 * Builds the Temporal CLI with Go, which needs nothing but a Go proxy. It takes about four minutes
 * on two cores, once.
 */
export const buildBinary: BinarySource = async ({ into, programs, say }) => {
  const bin = mkdtempSync(join(into, '.build-'));
  try {
    say(`building a Temporal server with \`go install ${PACKAGE}\`: about 4 minutes, once`);
    const failure = await runGoInstall(programs, bin, say);
    if (failure !== null) return { problem: failure };
    const path = findFreeName(into);
    renameSync(join(bin, 'temporal'), path);
    return { path };
  } finally {
    rmSync(bin, { recursive: true, force: true });
  }
};

/** Finds a free name: an existing binary may be in use for another database. */
function findFreeName(into: string): string {
  const plain = join(into, 'temporal');
  return existsSync(plain) ? join(into, `temporal-${VERSION}`) : plain;
}

async function runGoInstall(programs: Programs, bin: string, say: (line: string) => void): Promise<string | null> {
  const started = Date.now();
  const child = await startProgram([programs.at('go'), 'install', PACKAGE], bin, programs, { GOBIN: bin });
  if (typeof child === 'string') return `cannot build it: ${child}`;
  let errors = '';
  // Only the end of the output is kept, which says why the build failed.
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors = (errors + text).slice(-4_000)));
  const report = setInterval(() => say(`still building (${formatDuration(Date.now() - started)})`), REPORT_MS);
  const { code, signal } = await child.closed().finally(() => clearInterval(report));
  if (code === 0) {
    say(`built a Temporal server in ${formatDuration(Date.now() - started)}`);
    return null;
  }
  const last = errors.trim().split('\n').at(-1) || (signal ?? `status ${code}`);
  return `\`go install ${PACKAGE}\` failed: ${last}`;
}

function formatDuration(ms: number): string {
  const seconds = Math.round(ms / 1000);
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/**
 * A `temporal` that can be started; `server` is the version of the server in it, such as 1.29.1.
 */
export type Binary = { readonly path: string; readonly server: string };

/** The oldest server that the tuning and the flags were measured with. */
const OLDEST = [1, 29] as const;

/**
 * Tells which Temporal server a `temporal` binary holds, and whether it will do. Resolves to the
 * server's version, or to why it cannot be told.
 */
async function binaryVersion(path: string, programs: Programs): Promise<{ server: string } | { problem: string }> {
  const output = await readVersionText(path, programs);
  const version = /\bServer (\d+\.\d+\.\d+)/.exec(output)?.[1];
  return version === undefined ? { problem: 'does not say which server it holds' } : { server: version };
}

/**
 * Returns undefined when the server will do. `wanted` is the version that made the database, null
 * for a new one.
 */
function versionProblem(server: string, wanted: string | null): string | undefined {
  const [major, minor] = releaseOf(server);
  if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1]))
    return `holds server ${server}, ${OLDEST.join('.')} or newer is needed`;
  if (wanted !== null && !sameSchema(server, wanted))
    return `holds server ${server}, the database was made by ${wanted}`;
  return undefined;
}

function readVersionText(path: string, programs: Programs): Promise<string> {
  return new Promise((resolve) => {
    execFile(path, ['--version'], { env: programs.environment(), cwd: '/', timeout: 10_000 }, (_error, stdout) =>
      resolve(stdout),
    );
  });
}
