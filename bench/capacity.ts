// What a machine carries: a worker with sessions at rest, what each of them leaves behind, what a
// start takes, and many sessions at once: the worker's CPU a turn, and their time beside the floor.
import { statSync } from 'node:fs';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BenchServer } from './bench-server.ts';
import { cpuMs, peakBytes, residentBytes, spawnPerdure } from './page/page-process.ts';
import type { Usage } from './worker-process.ts';
import { wallOf } from './history.ts';
import type { Subject } from './subjects.ts';
import { median } from './table.ts';

export type RestRow = {
  readonly sessions: number;
  /** Bytes of the worker's memory at rest, and the most that it ever was. */
  readonly memory: number;
  readonly peak: number;
  /** The share of a core that the worker takes at rest. */
  readonly core: number;
  /** Of each session: CPU of the worker until it is at rest, and what it leaves. */
  readonly beginMs: number;
  readonly historyBytes: number;
  readonly databaseBytes: number;
  readonly folderBytes: number;
};

export type StartRow = { readonly readyMs: number; readonly memory: number };

/** Watched at rest, in milliseconds. */
const REST_MS = 10_000;

type Say = (line: string) => void;

export async function measureRest(bench: BenchServer, counts: readonly number[], say: Say): Promise<RestRow[]> {
  const rows: RestRow[] = [];
  for (const sessions of counts) {
    say(`${sessions} sessions at rest, load ${loadavg()[0]?.toFixed(1)}`);
    rows.push(await measureCount(bench, sessions));
  }
  return rows;
}

async function measureCount(bench: BenchServer, sessions: number): Promise<RestRow> {
  const before = await leftIn(bench);
  let worker = 0;
  let rest: Pick<RestRow, 'memory' | 'peak' | 'core'> | undefined;
  const ran = await bench.run({
    subject: 'safe',
    sessions,
    turns: 1,
    sealed: true,
    started: async (_, pid) => void (worker = pid),
    afterwards: async () => void (rest ??= await watchRest(worker)),
  });
  if (!rest) throw new Error('no session came to rest');
  const after = await leftIn(bench);
  const used = ({ samples }: Usage): number => samples.at(-1)?.[1] ?? Number.NaN;
  // Its memo is sealed, which the client of the bench does not read.
  const { workflowExecutionInfo } = await bench.client.workflowService.describeWorkflowExecution({
    namespace: 'default',
    execution: { workflowId: ran.workflowIds[0] ?? '' },
  });
  return {
    sessions,
    ...rest,
    beginMs: (used(ran.after) - used(ran.before)) / sessions,
    historyBytes: Number(workflowExecutionInfo?.historySizeBytes ?? Number.NaN),
    databaseBytes: (after.database - before.database) / sessions,
    folderBytes: (after.folder - before.folder) / sessions,
  };
}

async function watchRest(pid: number): Promise<Pick<RestRow, 'memory' | 'peak' | 'core'>> {
  const from = cpuMs(pid);
  await sleep(REST_MS);
  return { memory: residentBytes(pid), peak: peakBytes(pid), core: (cpuMs(pid) - from) / REST_MS };
}

/** Bytes of the server's database, and of all else in the data folder. */
async function leftIn({ folder }: BenchServer): Promise<{ readonly database: number; readonly folder: number }> {
  const database = statSync(folder.temporalDb).size;
  const entries = await readdir(folder.root, { recursive: true, withFileTypes: true });
  let total = 0;
  for (const { parentPath, name } of entries.filter((entry) => entry.isFile()))
    if (!join(parentPath, name).startsWith(folder.temporalDb))
      total += await stat(join(parentPath, name)).then(
        ({ blocks }) => blocks * 512,
        () => 0,
      );
  return { database, folder: total };
}

/** Starts a worker with a server of its own in a new data folder, until it polls. */
export async function measureStarts(rounds: number, say: Say): Promise<StartRow[]> {
  const rows: StartRow[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    say(`start ${round} of ${rounds}`);
    const root = await mkdtemp(join(tmpdir(), 'perdure-bench-'));
    const env = { ...process.env, PERDURE_DATA: join(root, 'data'), ANTHROPIC_API_KEY: 'bench', NO_COLOR: '1' };
    const startedAt = performance.now();
    try {
      const { pid, stop } = await spawnPerdure('worker', env, 'ignore');
      rows.push({ readyMs: performance.now() - startedAt, memory: residentBytes(pid) });
      await stop();
    } finally {
      await rm(root, { recursive: true, force: true, maxRetries: 3 });
    }
  }
  return rows;
}

type Measured = {
  /** CPU time of the worker's process, a turn. */
  readonly cpuMs: number;
  /** CPU time of the processes that it started, a turn. */
  readonly startedMs: number;
  /** From the first event of any session to the last of any. */
  readonly wallMs: number;
};

type Row = Measured & { readonly subject: Subject };
export type DensityRow = Row & { readonly ratio: number };

const SESSIONS = 50;
const TURNS = 20;
const WARM_UP = 5;

export async function measureDensity(bench: BenchServer, subject: Subject): Promise<Row[]> {
  const load = { subject, sessions: SESSIONS, turns: TURNS, warmUp: WARM_UP };
  const { workflowIds, before, after } = await bench.run(load);
  const turns = SESSIONS * TURNS;
  const cpu = (after.samples.at(-1)?.[1] ?? Number.NaN) - (before.samples.at(-1)?.[1] ?? Number.NaN);
  const wallMs = await wallOf(bench.client, workflowIds);
  return [{ subject, cpuMs: cpu / turns, startedMs: (after.started - before.started) / turns, wallMs }];
}

/** Medians, and what the wall is of the floor's. */
export function densityTable(rows: readonly Row[]): readonly DensityRow[] {
  const subjects = [...new Set(rows.map(({ subject }) => subject))];
  const floor = medians(rows, 'floor').wallMs;
  return subjects.map((subject) => {
    const row = medians(rows, subject);
    return { subject, ...row, ratio: row.wallMs / floor };
  });
}

function medians(rows: readonly Row[], subject: Subject): Measured {
  const those = rows.filter((row) => row.subject === subject);
  const of = (name: keyof Measured): number => median(those.map((row) => row[name]));
  return { cpuMs: of('cpuMs'), startedMs: of('startedMs'), wallMs: of('wallMs') };
}
