// The whole product for walks: an embedded server, a worker in a process of its own that can be
// killed, the command line, and a scripted model that looks at the folder before it answers.
import { spawn, type ChildProcess } from 'node:child_process';
import { createWriteStream, mkdirSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import type { Io } from '../../cli/cli.ts';
import type { PerdureClient } from '../../client/perdure-client.ts';
import type { SnapshotSettings } from '../../store/snapshots/take-snapshot.ts';
import { startScriptedModel, type Reply } from '../../scripted-model/index.ts';
import type { ParsedRequest } from '../../scripted-model/script.ts';
import { asksForSummary } from '../support/asks-for-summary.ts';
import { importApart } from '../../system/process/import-apart.mjs';

export type Ran = { readonly status: number | null; readonly out: string; readonly err: string };

/** A request of a turn, which its key names: `step` counts the replies before it. */
export type ModelRequest = { readonly key: string; readonly step: number; readonly keys: readonly string[] };
export type Answer = (request: ModelRequest) => Promise<Reply>;

export type Product = {
  readonly data: string;
  readonly home: string;
  readonly sessions: PerdureClient;
  readonly answers: Map<string, Answer>;
  /** Sentences about requests that the API would refuse. */
  readonly problems: () => readonly string[];
  /** The command line in this process, and in one of its own. */
  run(...args: readonly string[]): Promise<Ran>;
  runApart(...args: readonly string[]): Promise<Ran>;
  startWorker(): Promise<void>;
  killWorker(): Promise<void>;
  close(): Promise<void>;
};

export type ProductOptions = {
  readonly folder: string;
  /** Where the built product is: `bin` and `dist` lie in it. */
  readonly base: string;
  readonly snapshots?: SnapshotSettings;
};

export async function openProduct({ folder, base, snapshots = true }: ProductOptions): Promise<Product> {
  const [data, home, settings] = ['data', 'home', 'perdure.config.mjs'].map((name) => join(folder, name)) as Places;
  mkdirSync(join(home, '.config', 'git'), { recursive: true });
  writeFileSync(join(home, '.config', 'git', 'ignore'), '*.personal\n');
  const config = { permissionMode: 'bypass', memory: false, instructions: false, snapshots };
  writeFileSync(settings, `export default ${JSON.stringify(config)};\n`);
  const answers = new Map<string, Answer>();
  const model = await startScriptedModel({ script: (request) => answer(answers, request), keep: 'none' });
  const env = {
    PATH: process.env['PATH'],
    HOME: home,
    XDG_CACHE_HOME: process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'),
    PERDURE_DATA: data,
    PERDURE_CONFIG: settings,
    ANTHROPIC_API_KEY: 'test',
    ANTHROPIC_BASE_URL: model.url,
    GIT_CONFIG_NOSYSTEM: '1',
    TEMPORAL_DEBUG: '1',
  };
  const { openWholeServer } = await loadBuilt<typeof import('../../client/runtime/open-server.ts')>(
    base,
    'client/runtime/open-server',
  );
  const { main } = await loadBuilt<typeof import('../../cli/main.ts')>(base, 'cli/main');
  const opened = await openWholeServer({ env, by: 'walker' });
  const program = join(base, 'bin', 'perdure.mjs');
  const log = createWriteStream(join(folder, 'worker.log'), { flags: 'a' });
  let worker: ChildProcess | null = null;
  const kill = async (): Promise<void> => {
    const ended = worker && worker.exitCode === null && worker.signalCode === null ? once(worker) : null;
    worker?.kill('SIGKILL');
    worker = null;
    await ended;
  };
  return {
    data,
    home,
    sessions: opened.sessions,
    answers,
    problems: () => model.problems,
    run: (...args) => runHere(main, args, { env, cwd: () => folder }),
    runApart: (...args) => runApart([program, ...args], env, folder),
    startWorker: async () => {
      worker = spawn(process.execPath, [program, 'worker', '--config', settings], {
        env,
        cwd: folder,
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      worker.stderr?.pipe(log, { end: false });
      await ready(worker);
    },
    killWorker: kill,
    close: async () => {
      await kill();
      await opened.close();
      await model.close();
      log.end();
    },
  };
}

async function loadBuilt<T>(base: string, name: string): Promise<T> {
  return (await importApart(pathToFileURL(join(base, 'dist', `${name}.js`)).href)) as T;
}

async function runHere(main: Main, args: readonly string[], surroundings: Pick<Io, 'env' | 'cwd'>): Promise<Ran> {
  const [out, err] = [collector(), collector()];
  const io = { stdin: Readable.from([]), stdout: out.stream, stderr: err.stream, ...surroundings };
  const status = await main(args, io as unknown as Io);
  return { status, out: out.text(), err: err.text() };
}

type Main = (args: readonly string[], io: Io) => Promise<number>;

function collector() {
  const chunks: Buffer[] = [];
  const write = (chunk: Buffer, _: string, done: () => void): void => {
    chunks.push(chunk);
    done();
  };
  return { stream: new Writable({ write }), text: () => Buffer.concat(chunks).toString() };
}

type Places = [string, string, string];

const once = (child: ChildProcess): Promise<void> => new Promise((resolve) => child.once('exit', () => resolve()));

function ready(worker: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let out = '';
    worker.stdout?.on('data', (bytes: Buffer) => {
      out += bytes.toString();
      if (out.includes('worker ready')) resolve();
    });
    worker.once('exit', (code, signal) => reject(new Error(`the worker ended with ${signal ?? code}: ${out}`)));
  });
}

async function runApart(args: readonly string[], env: NodeJS.ProcessEnv, cwd: string): Promise<Ran> {
  const child = spawn(process.execPath, args, { env, cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  let [out, err] = ['', ''];
  child.stdout.on('data', (bytes: Buffer) => (out += bytes.toString()));
  child.stderr.on('data', (bytes: Buffer) => (err += bytes.toString()));
  const status = await new Promise<number | null>((resolve) => child.once('close', (code) => resolve(code)));
  return { status, out, err };
}

async function answer(answers: ReadonlyMap<string, Answer>, request: ParsedRequest): Promise<Reply> {
  if (asksForSummary(request)) return { content: [{ type: 'text', text: 'The turns so far are summed up.' }] };
  const { messages } = request;
  const keysOf = (at: number): readonly string[] =>
    messages[at]?.role === 'user'
      ? [...JSON.stringify(messages[at].content).matchAll(/TURN=(\w+)/g)].map(([, key]) => key ?? '')
      : [];
  const at = messages.findLastIndex((_, index) => keysOf(index).length > 0);
  const key = keysOf(at).at(-1) ?? '';
  const found = answers.get(key);
  if (!found) return { content: [{ type: 'text', text: 'Nothing is to be done.' }] };
  const step = messages.slice(at + 1).filter(({ role }) => role === 'assistant').length;
  return await found({ key, step, keys: messages.flatMap((_, index) => keysOf(index)) });
}
