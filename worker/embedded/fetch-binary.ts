// Downloads the Temporal dev server as the SDK's testing package does. The call is not part of the
// SDK's public interface and a download cannot be cancelled, so it runs in a process of its own
// that is killed when nothing arrives.
import { mkdtempSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, basename } from 'node:path';
import { reasonOf, codeOf } from '../../system/text.ts';
import { killTree } from '../../system/process/kill-tree.ts';
import type { Programs } from '../../system/process/programs.ts';
import { spawnPiped, type PipedProcess } from '../../system/process/spawn-piped.ts';
import { pipePlace } from '../../system/process/pipes.ts';

const STALLED_MS = 15_000;
const POLL_MS = 500;

/**
 * Takes the SDK's worker module and the folder as arguments. It starts the server once, in memory,
 * to see that it runs.
 */
const DOWNLOAD_SCRIPT = `
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
    const failure = await runDownload(folder, programs);
    if (failure !== null) return { problem: `the SDK's download from temporal.download failed: ${failure}` };
    const name = readdirSync(folder).find((file) => file.startsWith('temporal'));
    if (name === undefined) return { problem: "the SDK's download from temporal.download left no file" };
    renameSync(join(folder, name), join(into, name));
    return { path: join(into, name) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

/** Resolves to null when the binary was downloaded, else to why not. */
async function runDownload(folder: string, programs: Programs): Promise<string | null> {
  const module = createRequire(import.meta.url).resolve('@temporalio/worker');
  const child = await startProgram([process.execPath, '-e', DOWNLOAD_SCRIPT, module, folder], folder, programs);
  if (typeof child === 'string') return child;
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  let stalled = false;
  const stopWatching = watchForStall(folder, () => {
    stalled = true;
    void killTree(child.tree, { graceMs: 0 });
  });
  const { code } = await child.closed().finally(stopWatching);
  if (stalled) return `nothing arrived for ${STALLED_MS / 1000} s`;
  return code === 0 ? null : lastCause(errors);
}

/**
 * Starts a program without input, whose standard error is read; it does not outlive this process.
 * Resolves to a sentence when it cannot be started.
 */
export async function startProgram(
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

/** Returns the innermost reason: the SDK nests its reasons and repeats the address in each. */
function lastCause(errors: string): string {
  const line = errors.trim().split('\n').at(-1) ?? '';
  return (
    line
      .split(/\)?: (?=error|client error|dns error|tcp|invalid|HTTP)/)
      .at(-1)
      ?.trim() || 'no reason given'
  );
}

function watchForStall(folder: string, act: () => void): () => void {
  let lastSize = 0;
  let since = Date.now();
  const timer = setInterval(() => {
    const size = sizeOf(folder);
    if (size !== lastSize) {
      lastSize = size;
      since = Date.now();
    } else if (Date.now() - since > STALLED_MS) act();
  }, POLL_MS);
  return () => clearInterval(timer);
}

function sizeOf(folder: string): number {
  const sizes = readdirSync(folder).map((name) => statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0);
  return sizes.reduce((sum, size) => sum + size, 0);
}

/**
 * Puts a binary into the existing folder `into` (an absolute path) and returns its path, or says
 * why not.
 */
export type BinarySource = (get: {
  readonly into: string;
  readonly programs: Programs;
  /** Reports progress to a person, one line each. */
  readonly say: (line: string) => void;
}) => Promise<{ readonly path: string } | { readonly problem: string }>;
