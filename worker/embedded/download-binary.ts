// The SDK's own download of the Temporal dev server, as its testing package does it. The call is not part of the SDK's public
// interface and a download cannot be cancelled, so it runs in a process of its own that is killed when nothing arrives.
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { BinarySource } from './binary-version.ts';
import { reasonOf } from './setup-problem.ts';

const STALLED_MS = 15_000;
const POLL_MS = 500;

/** Arguments: the SDK's worker module, the folder. The server is started once, in memory, to see that it runs. */
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
    const failure = await download(folder, programs.environment('network'));
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
function download(folder: string, env: Record<string, string>): Promise<string | null> {
  const module = createRequire(import.meta.url).resolve('@temporalio/worker');
  const child = spawn(process.execPath, ['-e', script, module, folder], {
    env,
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  let stalled = false;
  const stopWatching = whenStalled(folder, () => {
    stalled = true;
    child.kill('SIGKILL');
  });
  return new Promise((resolve) => {
    const done = (failure: string | null) => {
      stopWatching();
      resolve(failure);
    };
    child.once('error', (error) => done(reasonOf(error)));
    child.once('close', (code) => {
      if (stalled) done(`nothing arrived for ${STALLED_MS / 1000} s`);
      else done(code === 0 ? null : lastCause(errors));
    });
  });
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
