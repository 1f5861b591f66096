// The SDK's own download of the Temporal dev server, as its testing package does it. The call is
// not part of the SDK's public interface and a download cannot be cancelled, so it runs in a
// process of its own that is killed when nothing arrives.
import { mkdtempSync, readdirSync, renameSync, rmSync, statSync, existsSync, createReadStream } from 'node:fs';
import { createRequire } from 'node:module';
import { join, basename, dirname } from 'node:path';
import { createHash } from 'node:crypto';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import { SetupProblem } from '../../system/setup-problem.ts';
import { reasonOf, codeOf } from '../../system/text.ts';
import { killTree } from '../../system/process/kill-tree.ts';
import type { Programs } from '../../system/process/programs.ts';
import { spawnPiped, type PipedProcess } from '../../system/process/spawn-piped.ts';
import { pipePlace } from '../../system/process/pipes.ts';
import { readJsonFile, writeJsonFile } from '../../system/json-file.ts';

const STALLED_MS = 15_000;
const POLL_MS = 500;

/**
 * Arguments: the SDK's worker module, the folder. The server is started once, in memory, to see
 * that it runs.
 */
const script = `
const [module, downloadDir] = process.argv.slice(1);
const { Runtime, DefaultLogger } = require(module);
const sdkVersion = require(require.resolve('@temporalio/worker/package.json', { paths: [module] })).version;
const exe = { type: 'cached-download', downloadDir, version: 'default', ttl: 1e12, sdkName: 'sdk-typescript', sdkVersion };
const rest = { namespace: 'default', ip: '127.0.0.1', port: null, uiPort: null, dbFilename: null, ui: false, extraArgs: [] };
const log = { format: 'pretty', level: 'error' };
const runtime = Runtime.install({ logger: new DefaultLogger('ERROR'), shutdownSignals: [] });
runtime.createEphemeralServer({ type: 'dev-server', exe, log, ...rest }).then(
  (server) => runtime.shutdownEphemeralServer(server),
  (error) => { console.error(error.message); process.exitCode = 1; },
);`;

export const downloadBinary: BinarySource = async ({ into, programs, say }) => {
  say('downloading a Temporal server from temporal.download, once');
  const folder = mkdtempSync(join(into, '.download-'));
  try {
    const failure = await download(folder, programs);
    if (failure !== null) return { problem: `the SDK's download from temporal.download failed: ${failure}` };
    const name = readdirSync(folder).find((file) => file.startsWith('temporal'));
    if (name === undefined) return { problem: "the SDK's download from temporal.download left no file" };
    renameSync(join(folder, name), join(into, name));
    return { path: join(into, name) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

/** Null when it is there, else why not. */
async function download(folder: string, programs: Programs): Promise<string | null> {
  const module = createRequire(import.meta.url).resolve('@temporalio/worker');
  const child = await begin([process.execPath, '-e', script, module, folder], folder, programs);
  if (typeof child === 'string') return child;
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  let stalled = false;
  const stopWatching = whenStalled(folder, () => {
    stalled = true;
    void killTree(child.tree, { graceMs: 0 });
  });
  const { code } = await child.closed().finally(stopWatching);
  if (stalled) return `nothing arrived for ${STALLED_MS / 1000} s`;
  return code === 0 ? null : lastCause(errors);
}

/**
 * A program without input that is told by its standard error; it does not outlive this process.
 * Else why it cannot be started.
 */
async function begin(
  argv: readonly string[],
  cwd: string,
  programs: Programs,
  more = {},
): Promise<PipedProcess | string> {
  const env = { ...programs.environment('network'), ...more };
  try {
    const child = await spawnPiped(argv, { cwd, env, pipes: pipePlace(programs, undefined) });
    child.stdin.end();
    child.stdout.resume();
    return child;
  } catch (error) {
    return codeOf(error) === 'ENOENT' ? `no \`${basename(argv[0] ?? '')}\` on PATH` : reasonOf(error);
  }
}

/** The SDK nests its reasons and repeats the address in each; the innermost one says it. */
function lastCause(errors: string): string {
  const line = errors.trim().split('\n').at(-1) ?? '';
  return (
    line
      .split(/\)?: (?=error|client error|dns error|tcp|invalid|HTTP)/)
      .at(-1)
      ?.trim() || 'no reason given'
  );
}

function whenStalled(folder: string, act: () => void): () => void {
  let seen = 0;
  let since = Date.now();
  const timer = setInterval(() => {
    const size = sizeOf(folder);
    if (size !== seen) {
      seen = size;
      since = Date.now();
    } else if (Date.now() - since > STALLED_MS) act();
  }, POLL_MS);
  return () => clearInterval(timer);
}

function sizeOf(folder: string): number {
  const sizes = readdirSync(folder).map((name) => statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0);
  return sizes.reduce((sum, size) => sum + size, 0);
}

// Builds the Temporal CLI with Go: the way that needs nothing but a Go proxy. About four minutes on
// two cores, once.

/**
 * The newest version that `go install` takes: later ones replace modules. It holds server 1.29.1.
 */
const VERSION = 'v1.5.1';
const PACKAGE = `github.com/temporalio/cli/cmd/temporal@${VERSION}`;
const REPORT_MS = 30_000;

export const buildBinary: BinarySource = async ({ into, programs, say }) => {
  const bin = mkdtempSync(join(into, '.build-'));
  try {
    say(`building a Temporal server with \`go install ${PACKAGE}\`: about 4 minutes, once`);
    const failure = await goInstall(programs, bin, say);
    if (failure !== null) return { problem: failure };
    const path = freeName(into);
    renameSync(join(bin, 'temporal'), path);
    return { path };
  } finally {
    rmSync(bin, { recursive: true, force: true });
  }
};

/** The binary that is there may be in use for another database. */
function freeName(into: string): string {
  const plain = join(into, 'temporal');
  return existsSync(plain) ? join(into, `temporal-${VERSION}`) : plain;
}

async function goInstall(programs: Programs, bin: string, say: (line: string) => void): Promise<string | null> {
  const started = Date.now();
  const child = await begin([programs.at('go'), 'install', PACKAGE], bin, programs, { GOBIN: bin });
  if (typeof child === 'string') return `cannot build it: ${child}`;
  let errors = '';
  // Kept short: only the end says why it failed.
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors = (errors + text).slice(-4_000)));
  const report = setInterval(() => say(`still building (${minutes(Date.now() - started)})`), REPORT_MS);
  const { code, signal } = await child.closed().finally(() => clearInterval(report));
  if (code === 0) {
    say(`built a Temporal server in ${minutes(Date.now() - started)}`);
    return null;
  }
  const last = errors.trim().split('\n').at(-1) || (signal ?? `status ${code}`);
  return `\`go install ${PACKAGE}\` failed: ${last}`;
}

function minutes(ms: number): string {
  const seconds = Math.round(ms / 1000);
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

// The checksum of a server binary of our cache when it was got, recorded beside it, where commands
// of the agent cannot write. It is not started when it holds something else. A file that looks
// untouched is not read again: 250 MB take a second.

const recordSchema = z.object({
  sha256: z.string(),
  /** Inode, size and times of the file that was read. No program sets the time of a change. */
  seen: z.string(),
});

const REMEDY = 'remove both files; the next start downloads or builds a server again';

/**
 * Before it is started for anything. `unknown`: nothing is recorded. Throws SetupProblem when it is
 * not what was recorded.
 */
export async function checkBinary(path: string): Promise<'unchanged' | 'unknown'> {
  const record = recordPath(path);
  const file = readJsonFile(record, recordSchema);
  if (file.kind === 'absent') return 'unknown';
  if (file.kind === 'damaged')
    throw new SetupProblem(`${record}, the checksum of ${path}, is damaged (${file.why}): ${REMEDY}`);
  const seen = identityOf(path);
  if (seen === file.value.seen) return 'unchanged';
  if ((await sha256Of(path)) !== file.value.sha256)
    throw new SetupProblem(
      `${path} has changed since it was downloaded or built (${record} has another checksum): ${REMEDY}`,
    );
  save(path, { ...file.value, seen });
  return 'unchanged';
}

export async function recordBinary(path: string): Promise<void> {
  // Taken first: a change while it is read makes it be read again.
  const seen = identityOf(path);
  save(path, { sha256: await sha256Of(path), seen });
}

function save(path: string, record: z.infer<typeof recordSchema>): void {
  try {
    writeJsonFile(recordPath(path), record, 'not durable');
  } catch (error) {
    // Read-only, as for a command in the sandbox: nothing is changed there by this process, and the
    // next one records it.
    if (!['EROFS', 'EACCES', 'EPERM'].includes(codeOf(error) ?? '')) throw error;
  }
}

/** Another file was put there. */
export function forgetBinary(path: string): void {
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
 * Puts a binary in the folder `into` (absolute, there already) and returns its path, or says why
 * not.
 */
export type BinarySource = (get: {
  readonly into: string;
  readonly programs: Programs;
  /** Progress for a person, one line each. */
  readonly say: (line: string) => void;
}) => Promise<{ readonly path: string } | { readonly problem: string }>;
