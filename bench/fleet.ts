// What lists of very many sessions take of a command, of the page and of the server, each time as
// when nobody has looked before, and again. Nobody had to run them: some are begun as imported ones
// are, at rest after a run, and the others are rows of visibility alone, as those have them, each
// with a title and a sealed memo of its own. Lists and counts read nothing else.
import { createHash, randomUUID } from 'node:crypto';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { encodeMapToPayloads } from '@temporalio/common/lib/internal-non-workflow/index.js';
import proto from '@temporalio/proto';
import { createLimit } from '../system/async.ts';
import { type OpenedServer, openWholeServer } from '../client/runtime/open-server.ts';
import { IMPORTED_KEY, STARTED_KEY, STORE_KEY } from '../client/sessions/info.ts';
import { startCarried } from '../client/sessions/send.ts';
import { carryInput } from '../client/store-care/carry-session.ts';
import { installRuntime } from '../worker/install-runtime.ts';
import { findRunningServer } from '../worker/embedded/server-record.ts';
import type { Hash, SessionId } from '../workflows/contract/ids.ts';
import type { Terminal } from '../workflows/contract/loop.ts';
import { present } from '../workflows/contract/present.ts';
import { MEMO_KEY, type RunOptions, type RunSummary, TASK_QUEUE } from '../workflows/contract/session.ts';
import { cpuMs, residentBytes, spawnPage } from './page/page-process.ts';
import { enterPage, type Visitor } from './page/visitor.ts';
import { median } from './table.ts';

/** Times are in milliseconds; CPU is that of one look, in milliseconds. */
export type FleetRow = {
  readonly sessions: number;
  readonly what: string;
  /** Of looks as when nobody has looked before. */
  readonly first: readonly number[];
  /** Of looks right after them; empty where a command looks. */
  readonly again: readonly number[];
  /** Of the command, or of the page. */
  readonly cpu: number;
  readonly serverCpu: number;
  readonly pageMemory?: number;
  /** Looks that ended with a sentence in place of a list. */
  readonly failed: number;
};

type Say = (line: string) => void;

/** Each is what a person may ask a list for. */
const FILTERS = ['', 'tag:team=web', 'failed', 'lamp', 'sort:-cost'];

/** A look of a command is repeated until they have taken this long, or there are five. */
const LONG_MS = 20_000;
const TIMES = 5;
const TOGETHER = 64;
const LOOK_MS = 200;

/** Measures at each of the counts, the smallest first. */
export async function measureFleet(counts: readonly number[], say: Say): Promise<readonly FleetRow[]> {
  installRuntime(() => undefined);
  const root = await mkdtemp(join(tmpdir(), 'perdure-bench-'));
  const env = { ...process.env, PERDURE_DATA: join(root, 'data'), NO_COLOR: '1' };
  const open = (): Promise<OpenedServer> => openWholeServer({ env, role: 'dev', say });
  let opened = await open();
  try {
    const rows: FleetRow[] = [];
    let there = 0;
    for (const count of counts.toSorted((one, other) => one - other)) {
      await startReal(opened, root, { from: there, to: Math.min(count, REAL) });
      const store = await opened.storeId();
      // Rows go into the file of a server that does not run: beside it, each waited for the other.
      await opened.close();
      await cloneRows(opened, root, { from: Math.max(there, REAL), to: count, store, say });
      opened = await open();
      there = count;
      rows.push(...(await measureCommands(opened, env, count, say)), ...(await measurePages(opened, env, count, say)));
    }
    return rows;
  } finally {
    await opened.close();
    await rm(root, { recursive: true, force: true });
  }
}

type Range = { readonly from: number; readonly to: number };

const numbersOf = ({ from, to }: Range): readonly number[] =>
  Array.from({ length: Math.max(to - from, 0) }, (_, n) => from + n);

/** Sessions that are begun for real: the first of them are under way, without a worker. */
const [UNDER_WAY, REAL] = [200, 600] as const;

async function startReal(opened: OpenedServer, cwd: string, range: Range): Promise<void> {
  const few = createLimit(TOGETHER);
  const store = await opened.storeId();
  await Promise.all(numbersOf(range).map((n) => few(() => startOne(opened, cwd, n, store))));
  // The others are copies of their rows, which the server writes a little later.
  const { workflow } = opened.temporal.client;
  while ((await workflow.count()).count < range.to) await sleep(LOOK_MS);
}

/** Of those at rest one in twenty ended badly, and as many were closed. */
async function startOne(opened: OpenedServer, cwd: string, n: number, store: string): Promise<void> {
  const { title, options } = sessionOf(n, cwd);
  if (n < UNDER_WAY) return void (await opened.sessions.start(title, options));
  await startAtRest(opened, { n, title, options, store });
  if (n % 20 === 1) await opened.temporal.client.workflow.getHandle(idOf(n)).terminate('the bench wants it closed');
}

type Clones = Range & { readonly store: string; readonly say: Say };

/** Rows of one transaction. */
const ROWS = 5_000;

/**
 * The table has 46 indexes: they are kept in memory while it is filled, and nothing is to outlive a
 * power cut.
 */
const FILLING = 'PRAGMA synchronous = OFF;\nPRAGMA cache_size = -600000;\nPRAGMA temp_store = MEMORY;\n';

/** Writes rows of visibility like those of sessions at rest. */
async function cloneRows(opened: OpenedServer, cwd: string, { store, say, ...range }: Clones): Promise<void> {
  const { temporalDb } = opened.folder;
  const [startedAt, before] = [performance.now(), (await stat(temporalDb)).size];
  const child = spawn('sqlite3', ['-bail', temporalDb], { stdio: ['pipe', 'ignore', 'inherit'] });
  const exit = once(child, 'exit');
  child.stdin.write(
    `${FILLING}CREATE TEMP TABLE models AS SELECT namespace_id, close_time, workflow_id, ${COPIED} FROM executions_visibility;\n` +
      'CREATE INDEX temp.models_by_id ON models (workflow_id);\n',
  );
  const numbers = numbersOf(range);
  for (let at = 0; at < numbers.length; at += ROWS) {
    const rows = await Promise.all(numbers.slice(at, at + ROWS).map((n) => cloneOf(opened, cwd, n, store)));
    if (!child.stdin.write(`BEGIN;\n${rows.join('\n')}\nCOMMIT;\n`)) await once(child.stdin, 'drain');
  }
  child.stdin.end();
  const [status] = (await exit) as [number];
  if (status !== 0) throw new Error(`sqlite3 ended with ${status}`);
  const seconds = (performance.now() - startedAt) / 1_000;
  const bytes = ((await stat(temporalDb)).size - before) / numbers.length;
  say(`${range.to} sessions: ${seconds.toFixed(0)} s, ${bytes.toFixed(0)} bytes of database each, load ${load()}`);
}

const COPIED = '_version, workflow_type_name, status, history_length, encoding, task_queue, search_attributes';

async function cloneOf({ temporal: { client }, target }: OpenedServer, cwd: string, n: number, store: string) {
  const { title, options } = sessionOf(n, cwd);
  const { memo } = restOf({ n, title, options, store });
  const startedAt = Date.now() - n * 1_000;
  const context = { type: 'workflow', namespace: target.namespace, workflowId: idOf(n) } as const;
  const value = { ...memo, cwd, title, phase: 'idle' };
  const keys = { [MEMO_KEY]: value, [STARTED_KEY]: startedAt, [STORE_KEY]: store, [IMPORTED_KEY]: memo.head };
  const fields = await encodeMapToPayloads(client.options.loadedDataConverter, keys, context);
  const bytes = Buffer.from(proto.temporal.api.common.v1.Memo.encode({ fields }).finish()).toString('hex');
  const start = new Date(startedAt).toISOString().replace('T', ' ').replace('Z', '000+00:00');
  const [id, run, model] = [idOf(n), randomUUID(), idOf(UNDER_WAY + (n % (REAL - UNDER_WAY)))];
  return (
    `INSERT INTO executions_visibility (namespace_id, run_id, start_time, execution_time, close_time, workflow_id, root_workflow_id, root_run_id, memo, ${COPIED}) ` +
    `SELECT namespace_id, '${run}', '${start}', '${start}', close_time, '${id}', '${id}', '${run}', X'${bytes}', ${COPIED} ` +
    `FROM models WHERE workflow_id = '${model}';`
  );
}

const load = (): string => (loadavg()[0] ?? Number.NaN).toFixed(1);
const idOf = (n: number): SessionId => `bench-fleet-${n}` as SessionId;

const WORDS = 'lamp cart mail bill door test page sync auth log lock chart price stock'.split(' ');
const TEAMS = 'web api ops data pay search mobile docs infra growth'.split(' ');
const MODELS = ['claude-sonnet-5', 'claude-haiku-4-5', 'claude-opus-5', 'claude-sonnet-4-5'];

const pick = <Item>(items: readonly Item[], n: number): Item => items[n % items.length] as Item;

function sessionOf(n: number, cwd: string): { readonly title: string; readonly options: RunOptions } {
  const title = `Mend the ${pick(WORDS, n)} ${pick(['shop', 'queue', 'form', 'view', 'job'], n >> 3)} ${n}`;
  return { title, options: { cwd, model: pick(MODELS, n), tags: { team: pick(TEAMS, n) }, permissionMode: 'dontAsk' } };
}

type Resting = { readonly n: number; readonly title: string; readonly options: RunOptions; readonly store: string };

/** What a session at rest carries; its attributes follow from it. */
function restOf({ n, title, options }: Resting) {
  const head = createHash('sha256').update(title).digest('hex') as Hash;
  const terminal: Terminal =
    n % 20 === 2 ? { reason: 'max_turns', limit: 40, turnNotTaken: 41 } : { reason: 'completed' };
  const last: RunSummary = { run: 1, terminal, turns: n % 40, iterations: n % 40, head, messages: [] };
  const facts = {
    turns: n % 40,
    tokens: 1_000 * (n % 400),
    cents: n % 200,
    ...present({ model: options.model, tags: options.tags }),
  };
  return { head, last, memo: { head, runs: 1, last, facts } };
}

async function startAtRest({ temporal, target }: OpenedServer, resting: Resting): Promise<void> {
  const { n, title, options, store } = resting;
  const { head, last, memo } = restOf(resting);
  const carried = {
    cwd: options.cwd,
    profile: 'machine',
    sealed: target.keys !== undefined,
    visibility: true,
  } as const;
  await startCarried(temporal.client, {
    session: idOf(n),
    input: carryInput(carried, { title, head, runs: 1, last, options }),
    workers: { taskQueue: TASK_QUEUE, configuration: null },
    store,
    now: Date.now(),
    memo,
  });
}

/** CPU of the server while something is done, in milliseconds a time. */
async function onServer<Value>({ folder }: OpenedServer, work: () => Promise<Value>) {
  const pid = findRunningServer(folder)?.pid ?? 0;
  const before = cpuMs(pid);
  const value = await work();
  return { value, serverCpu: cpuMs(pid) - before };
}

/** Does it until it has taken long, or five times. */
async function timesOf(look: (n: number) => Promise<unknown>, most = TIMES): Promise<number[]> {
  const times: number[] = [];
  while (times.length < most && times.reduce((sum, ms) => sum + ms, 0) < LONG_MS) {
    const startedAt = performance.now();
    await look(times.length);
    times.push(performance.now() - startedAt);
  }
  return times;
}

/** CPU of the processes that this one has started and that have ended, in milliseconds. */
function endedCpuMs(): number {
  const fields = readFileSync('/proc/self/stat', 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return (Number(fields[13]) + Number(fields[14])) * 10;
}

const program = fileURLToPath(new URL('../../bin/perdure.mjs', import.meta.url));
const runProgram = promisify(execFile);

async function measureCommands(
  opened: OpenedServer,
  env: NodeJS.ProcessEnv,
  sessions: number,
  say: Say,
): Promise<readonly FleetRow[]> {
  const rows: FleetRow[] = [];
  const everything = ['--limit', '1000000'];
  for (const [what, args] of [
    ...FILTERS.map((filter) => [filter, ['--json', ...(filter === '' ? [] : [filter])]] as const),
    ['(all, as JSON)', ['--json', ...everything]] as const,
  ]) {
    const options = { env, maxBuffer: 1 << 30 };
    const list = (): Promise<unknown> => runProgram(process.execPath, [program, 'list', ...args], options);
    const before = endedCpuMs();
    const { value: first, serverCpu } = await onServer(opened, () => timesOf(list));
    const [cpu, server] = [endedCpuMs() - before, serverCpu].map((ms) => ms / first.length) as [number, number];
    rows.push({ sessions, what: `list ${what}`, first, again: [], cpu, serverCpu: server, failed: 0 });
    say(`${fleetCells(rows.at(-1) as FleetRow).join(' | ')}, load ${load()}`);
  }
  return rows;
}

/** The views that show the same rows: each is looked at anew. */
const VIEWS = ['', '&span=1h', '&span=7d', '&flat=1', '&flat=1&span=1h'];
/** Looks of the page right after a first one. */
const AGAIN = 3;

async function measurePages(
  opened: OpenedServer,
  env: NodeJS.ProcessEnv,
  sessions: number,
  say: Say,
): Promise<readonly FleetRow[]> {
  const page = await spawnPage(env);
  try {
    const visitor = await enterPage(page.entry);
    const rows: FleetRow[] = [];
    for (const filter of FILTERS) {
      const { value, serverCpu } = await onServer(opened, () => lookAt(visitor, page.pid, filter));
      const what = `page ${filter}`;
      const pageMemory = residentBytes(page.pid);
      rows.push({ sessions, what, ...value, serverCpu: serverCpu / value.first.length, pageMemory });
      say(`${fleetCells(rows.at(-1) as FleetRow).join(' | ')}, load ${load()}`);
    }
    return rows;
  } finally {
    await page.stop();
  }
}

async function lookAt(visitor: Visitor, pid: number, filter: string) {
  const path = (n: number): string => `/?q=${encodeURIComponent(filter)}${VIEWS[n] ?? ''}`;
  const before = cpuMs(pid);
  let failed = 0;
  const look = (n: number): Promise<unknown> => visitor.read(path(n)).catch(() => (failed += 1));
  const first = await timesOf(look, VIEWS.length);
  const cpu = (cpuMs(pid) - before) / first.length;
  const again = await timesOf(() => look(first.length - 1), AGAIN);
  return { first, again, cpu, failed };
}

/** Cells of a table for people. */
export function fleetCells(row: FleetRow): readonly string[] {
  const { sessions, what, first, again, cpu, serverCpu, pageMemory, failed } = row;
  const ms = (value: number): string => value.toFixed(0);
  return [
    sessions.toLocaleString('en'),
    what,
    ms(median(first)),
    ms(Math.max(...first)),
    again.length === 0 ? '' : ms(median(again)),
    ms(cpu),
    ms(serverCpu),
    pageMemory === undefined ? '' : (pageMemory / 1e6).toFixed(0),
    String(failed),
  ];
}
