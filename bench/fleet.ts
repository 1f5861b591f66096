// Many sessions that nobody had to run: they begin as imported ones, at rest after some runs, with
// the memo and the attributes that a session of their kind has. What lists of them take of a
// command, of the page and of the server, each time as when nobody has looked before, and again.
import { createHash } from 'node:crypto';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createLimit } from '../system/async.ts';
import { type OpenedServer, openWholeServer } from '../client/runtime/open-server.ts';
import { startCarried } from '../client/sessions/send.ts';
import { carryInput } from '../client/store-care/import-session.ts';
import { installRuntime } from '../worker/install-runtime.ts';
import { findRunningServer } from '../worker/embedded/server-record.ts';
import type { Hash, SessionId } from '../workflows/contract/ids.ts';
import type { Terminal } from '../workflows/contract/loop.ts';
import { type RunOptions, type RunSummary, TASK_QUEUE } from '../workflows/contract/session.ts';
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
  readonly pageCpu?: number;
  readonly serverCpu: number;
  readonly pageMemory?: number;
};

type Say = (line: string) => void;

/** Each is what a person may ask a list for. */
const FILTERS = [
  '',
  'status:open',
  'failed',
  'phase:idle',
  'waiting',
  'tag:team=web',
  'reason:max_turns',
  'cost>1.9',
  'age<2h',
  'model=claude-sonnet-5',
  'lamp',
  'title:"lamp shop 77"',
  'sort:-cost',
  'tag:team=web sort:-cost',
];

/** A look of a command is repeated until they have taken this long, or there are five. */
const LONG_MS = 30_000;
const TIMES = 5;
const TOGETHER = 64;

/** Measures at each of the counts, the smallest first. */
export async function measureFleet(counts: readonly number[], say: Say): Promise<readonly FleetRow[]> {
  installRuntime(() => undefined);
  const root = await mkdtemp(join(tmpdir(), 'perdure-bench-'));
  const env = { ...process.env, PERDURE_DATA: join(root, 'data'), NO_COLOR: '1' };
  const opened = await openWholeServer({ env, role: 'dev', say });
  try {
    const rows: FleetRow[] = [];
    let there = 0;
    for (const count of counts.toSorted((one, other) => one - other)) {
      await addSessions(opened, root, { from: there, to: count, say });
      there = count;
      rows.push(...(await measureCommands(opened, env, count, say)), ...(await measurePages(opened, env, count, say)));
    }
    return rows;
  } finally {
    await opened.close();
    await rm(root, { recursive: true, force: true });
  }
}

type Range = { readonly from: number; readonly to: number; readonly say: Say };

/** Of a hundred, one is under way without a worker, four were ended, and five rest after a bad end. */
async function addSessions(opened: OpenedServer, cwd: string, { from, to, say }: Range): Promise<void> {
  const { folder, sessions, temporal, storeId } = opened;
  const few = createLimit(TOGETHER);
  const bytesBefore = (await stat(folder.temporalDb)).size;
  const startedAt = performance.now();
  const store = await storeId();
  const add = async (n: number): Promise<void> => {
    const { title, options } = sessionOf(n, cwd);
    if (n % 100 === 0) return void (await sessions.start(title, options));
    await startAtRest(opened, { n, title, options, store });
    if (n % 100 <= 4) await temporal.client.workflow.getHandle(idOf(n)).terminate('the bench wants it closed');
  };
  await Promise.all(Array.from({ length: to - from }, (_, n) => few(() => add(from + n))));
  const seconds = (performance.now() - startedAt) / 1_000;
  const bytes = ((await stat(folder.temporalDb)).size - bytesBefore) / (to - from);
  say(`${to} sessions: ${seconds.toFixed(0)} s, ${bytes.toFixed(0)} bytes of database each, load ${load()}`);
}

const load = (): string => (loadavg()[0] ?? Number.NaN).toFixed(1);
const idOf = (n: number): SessionId => `bench-fleet-${n}` as SessionId;

const WORDS = 'lamp cart mail bill door test page sync auth log lock chart price stock'.split(' ');
const TEAMS = 'web api ops data pay search mobile docs infra growth'.split(' ');
const MODELS = ['claude-sonnet-5', 'claude-haiku-4-5', 'claude-opus-5'];

const pick = <Item>(items: readonly Item[], n: number): Item => items[n % items.length] as Item;

function sessionOf(n: number, cwd: string): { readonly title: string; readonly options: RunOptions } {
  const title = `Mend the ${pick(WORDS, n)} ${pick(['shop', 'queue', 'form', 'view', 'job'], n >> 3)} ${n}`;
  return { title, options: { cwd, model: pick(MODELS, n), tags: { team: pick(TEAMS, n) }, permissionMode: 'dontAsk' } };
}

type Resting = { readonly n: number; readonly title: string; readonly options: RunOptions; readonly store: string };

async function startAtRest({ temporal, target }: OpenedServer, { n, title, options, store }: Resting): Promise<void> {
  const head = createHash('sha256').update(title).digest('hex') as Hash;
  const terminal: Terminal =
    n % 100 <= 9 ? { reason: 'max_turns', limit: 40, turnNotTaken: 41 } : { reason: 'completed' };
  const last: RunSummary = { run: 1, terminal, turns: n % 40, iterations: n % 40, head, messages: [] };
  const facts = { turns: n % 40, tokens: 1_000 * (n % 500), cents: n % 200, model: options.model, tags: options.tags };
  const memo = { head, runs: 1, last, facts };
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
    const { value: first, serverCpu } = await onServer(opened, () => timesOf(list));
    rows.push({ sessions, what: `list ${what}`, first, again: [], serverCpu: serverCpu / first.length });
    say(`${rows.at(-1)?.what}: ${first.map((ms) => ms.toFixed(0)).join(' ')} ms, load ${load()}`);
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
      say(`${what}: ${value.first.map((ms) => ms.toFixed(0)).join(' ')} ms, load ${load()}`);
    }
    return rows;
  } finally {
    await page.stop();
  }
}

async function lookAt(visitor: Visitor, pid: number, filter: string) {
  const path = (n: number): string => `/?q=${encodeURIComponent(filter)}${VIEWS[n] ?? ''}`;
  const before = cpuMs(pid);
  const first = await timesOf((n) => visitor.read(path(n)), VIEWS.length);
  const pageCpu = (cpuMs(pid) - before) / first.length;
  const again = await timesOf(() => visitor.read(path(first.length - 1)), AGAIN);
  return { first, again, pageCpu };
}

/** Cells of a table for people. */
export function fleetCells(row: FleetRow): readonly string[] {
  const { sessions, what, first, again, pageCpu, serverCpu, pageMemory } = row;
  const ms = (value: number | undefined): string => (value === undefined ? '' : value.toFixed(0));
  return [
    sessions.toLocaleString('en'),
    what,
    ms(median(first)),
    ms(Math.max(...first)),
    again.length === 0 ? '' : ms(median(again)),
    ms(pageCpu),
    ms(serverCpu),
    pageMemory === undefined ? '' : (pageMemory / 1e6).toFixed(0),
  ];
}
