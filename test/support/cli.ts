// The CLI as a user runs it, on a data folder of its own, which is stopped and removed with the
// test. What works or follows is a process, `node bin/perdure.mjs`; commands that only look or tell
// run in the test's own.
import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { openDataFolder } from '../../connection/data-folder.ts';
import { findBinary } from '../../worker/embedded/find-binary.ts';
import { joinServer } from '../../worker/embedded/join-server.ts';
import { findRunningServer } from '../../worker/embedded/server-record.ts';
import { stopServer } from '../../worker/embedded/stop-server.ts';
import { startScriptedModel, type ScriptedModel, type ScriptedModelOptions } from '../../scripted-model/index.ts';
import { mainHere, type Result } from './cli-here.ts';
import { heldToSchema } from './held-to-schema.ts';
import { tempDir } from './temp-dir.ts';
import { until } from './until.ts';
import { ONE_THREAD } from './worker-process.ts';

const program = fileURLToPath(new URL('../../bin/perdure.mjs', import.meta.url));

export type Command = {
  readonly pid: number;
  /** All it has printed so far. */
  readonly out: () => string;
  readonly err: () => string;
  readonly status: Promise<number | null>;
  signal(signal: NodeJS.Signals): void;
};

export type { Result };

/**
 * They start no worker and follow nothing; the tiers `packages` and `crash` run them as processes.
 */
const LIGHT: ReadonlySet<string> = new Set(
  'approvals approve btw deny list resume send show snip start top top-up'.split(' '),
);

export function cliPlace(model: ScriptedModel | null) {
  const root = tempDir();
  const data = join(root, 'data');
  const cwd = join(root, 'workspace');
  mkdirSync(cwd);
  // Notes are another call after each run, and captures are entries of transcripts: tests that are
  // about them ask for them (L80 T1).
  const settings = join(root, 'settings');
  mkdirSync(join(settings, 'perdure'), { recursive: true });
  writeFileSync(join(settings, 'perdure', 'perdure.config.mjs'), 'export default { memory: false, snapshots: false };');
  const env: Record<string, string | undefined> = {
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    XDG_CACHE_HOME: process.env.XDG_CACHE_HOME,
    PERDURE_DATA: data,
    XDG_CONFIG_HOME: settings,
    ...(model ? { ANTHROPIC_API_KEY: 'test', ANTHROPIC_BASE_URL: model.url } : {}),
  };
  onTestFinished(() => stopEmbedded(data));
  const start = (args: readonly string[], more: { env?: Record<string, string>; input?: string } = {}): Command => {
    const child = spawn(process.execPath, [program, ...args], {
      cwd,
      env: { ...env, ...ONE_THREAD, ...more.env },
      stdio: 'pipe',
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    let out = '';
    let err = '';
    child.stdout.on('data', (bytes: Buffer) => (out += bytes.toString()));
    child.stderr.on('data', (bytes: Buffer) => (err += bytes.toString()));
    child.stdin.end(more.input ?? '');
    const status = new Promise<number | null>((resolve) => child.once('close', (code) => resolve(code)));
    return { pid: child.pid ?? 0, out: () => out, err: () => err, status, signal: (signal) => void child.kill(signal) };
  };
  const run = async (...args: readonly string[]): Promise<Result> => {
    // The client of a bucket reads its credentials from the process itself.
    const here = LIGHT.has(args[0] ?? '') && env['PERDURE_STORE'] === undefined;
    if (here) return mainHere(args, { cwd: () => cwd, env });
    const command = start(args);
    return { status: await command.status, out: command.out(), err: command.err() };
  };
  return { root, data, cwd, env, start, run };
}

/** A worker of the place that takes work. */
export async function readyWorker({ start }: Pick<ReturnType<typeof cliPlace>, 'start'>): Promise<Command> {
  const worker = start(['worker']);
  await until(() => worker.out().includes('worker ready'));
  return worker;
}

async function stopEmbedded(root: string): Promise<void> {
  const server = findRunningServer(openDataFolder({ PERDURE_DATA: root }));
  if (server) await stopServer(server);
}

/** A Temporal server that no worker polls. */
export async function serverAlone(root: string): Promise<{ readonly address: string }> {
  const folder = openDataFolder({ PERDURE_DATA: root });
  const binary = (wanted: string | null) => findBinary({ env: process.env, wanted, say: () => {} });
  const joining = { folder, role: 'command', worker: false, env: process.env, binary, say: () => {} } as const;
  const embedded = await joinServer(joining);
  onTestFinished(() => embedded.leave());
  return embedded;
}

export async function modelFor(script: ScriptedModelOptions['script']): Promise<ScriptedModel> {
  const model = await startScriptedModel({ script });
  onTestFinished(() => model.close());
  return model;
}

/** Events among them are held to their schema. */
export const jsonLines = (text: string): readonly Record<string, unknown>[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .map((line) => ('type' in line ? heldToSchema(line) : line));
