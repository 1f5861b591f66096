// Whether a turn costs more the longer its session is: one session of many turns, and the medians
// of each tenth of them; with a viewer on the page, and without one.
import { statSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import type { BenchServer } from './bench-server.ts';
import { type Turn, turnsOf } from './history.ts';
import { cpuMs, residentBytes, spawnPage } from './page/page-process.ts';
import { enterPage } from './page/visitor.ts';
import { type Sample, valueAt } from './samples.ts';
import { median, renderTable } from './table.ts';
import type { Usage } from './worker-process.ts';

export const SLOPES = ['read', 'write', 'bash'] as const;

export type SlopeRow = {
  readonly subject: (typeof SLOPES)[number];
  readonly viewer: boolean;
  /** The last turn of the tenth. */
  readonly to: number;
  /** Medians of its turns, in milliseconds. */
  readonly ms: number;
  readonly cpuMs: number;
  /** Bytes that it added to the store and to the server's database, by its number of turns. */
  readonly stored: number;
  readonly database: number;
  /** Bytes of the worker's memory at its end. */
  readonly memory: number;
  /** Of the page's process, CPU by the number of turns; null where there is none. */
  readonly pageCpuMs: number | null;
  readonly pageMemory: number | null;
};

const TENTHS = 10;
const LOOK_MS = 250;

type Gauge = 'database' | 'memory' | 'pageCpu' | 'pageMemory';
type Gauges = Readonly<Record<Gauge, Sample[]>>;

export type SlopeLoad = {
  readonly subjects: readonly SlopeRow['subject'][];
  readonly turns: number;
  /** Whether a run with a viewer on the page follows each without. */
  readonly isWatched: boolean;
  readonly say: (line: string) => void;
};

export async function measureSlope(
  bench: BenchServer,
  { subjects, turns, isWatched, say }: SlopeLoad,
): Promise<readonly SlopeRow[]> {
  const rows: SlopeRow[] = [];
  for (const subject of subjects) {
    for (const viewer of isWatched ? [false, true] : [false]) {
      const who = viewer ? 'a viewer' : 'no viewer';
      say(`${turns} turns of ${subject}, ${who}, load ${loadavg()[0]?.toFixed(1)}`);
      const run = await measureRun(bench, { subject, viewer, turns });
      const [second, last] = [run[1], run.at(-1)];
      say(`${second?.ms.toFixed(1)} ms a turn in the second tenth, ${last?.ms.toFixed(1)} in the last`);
      rows.push(...run);
    }
  }
  return rows;
}

type Run = { readonly subject: SlopeRow['subject']; readonly viewer: boolean; readonly turns: number };

async function measureRun(bench: BenchServer, { subject, viewer, turns }: Run): Promise<readonly SlopeRow[]> {
  const looking: Looking[] = [];
  try {
    const { workflowIds, after } = await bench.run({
      subject: subject === 'read' ? 'safe' : subject,
      sessions: 1,
      sealed: true,
      turns: turns + 1,
      started: async (session, worker) => void looking.push(await look(bench, { session, worker, viewer })),
      afterwards: async () => looking[0]?.stop(),
    });
    const all = await turnsOf(bench.client, workflowIds[0] ?? '', 'perdure.callModel', 1);
    const gauges = looking[0]?.gauges;
    if (gauges === undefined || all.length < turns) throw new Error(`${all.length} of ${turns} turns came`);
    const stored = await storedAt(bench.folder.storePlace);
    const each = Math.floor(turns / TENTHS);
    const measured = { usage: after, gauges, stored };
    return Array.from({ length: TENTHS }, (_, tenth) => {
      const those = all.slice(tenth * each, (tenth + 1) * each);
      return { subject, viewer, to: (tenth + 1) * each, ...tenthOf(those, measured) };
    });
  } finally {
    for (const each of looking) await each.stop();
  }
}

type Looking = { readonly gauges: Gauges; stop(): Promise<void> };

/** Looks at what a session leaves and takes, seldom enough not to be measured itself. */
async function look(
  bench: BenchServer,
  { session, worker, viewer }: { readonly session: string; readonly worker: number; readonly viewer: boolean },
): Promise<Looking> {
  const page = viewer ? await openPage(bench, session) : null;
  const gauges: Gauges = { database: [], memory: [], pageCpu: [], pageMemory: [] };
  const take = (): void => {
    const now = performance.timeOrigin + performance.now();
    gauges.database.push([now, databaseBytes(bench.folder.temporalDb)]);
    gauges.memory.push([now, residentBytes(worker)]);
    if (page === null) return;
    gauges.pageCpu.push([now, cpuMs(page.pid)]);
    gauges.pageMemory.push([now, residentBytes(page.pid)]);
  };
  take();
  const looks = setInterval(take, LOOK_MS);
  let stopped: Promise<void> | undefined;
  const stop = (): Promise<void> => {
    clearInterval(looks);
    return page?.stop() ?? Promise.resolve();
  };
  return { gauges, stop: () => (stopped ??= stop()) };
}

type Page = { readonly pid: number; stop(): Promise<void> };

/** Opens the session's page and follows it, as a browser does. */
async function openPage({ folder }: BenchServer, session: string): Promise<Page> {
  const { pid, entry, stop } = await spawnPage({ ...process.env, PERDURE_DATA: folder.root, NO_COLOR: '1' });
  try {
    const visitor = await enterPage(entry);
    const path = `/sessions/${session}`;
    const place = /data-from="([^"]*)"/.exec(await visitor.read(path))?.[1] ?? '';
    const feed = await visitor.follow(`${path}/live?from=${encodeURIComponent(place)}`);
    return {
      pid,
      stop: async () => {
        feed.leave();
        await stop();
        if (feed.bytes() === 0) throw new Error('nothing came to the viewer');
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Its log, which is made as large as it may grow and written again, is not counted. */
function databaseBytes(path: string): number {
  return statSync(path).size;
}

/** Returns the bytes of the store as they grew: a file is written once. */
async function storedAt(place: string): Promise<readonly Sample[]> {
  const files = (await readdir(place, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  const written: Sample[] = [];
  for (const { parentPath, name } of files) {
    const { mtimeMs, size } = await stat(join(parentPath, name));
    written.push([mtimeMs, size]);
  }
  let total = 0;
  return written.toSorted(([a], [b]) => a - b).map(([at, size]) => [at, (total += size)]);
}

type Measured = { readonly usage: Usage; readonly gauges: Gauges; readonly stored: readonly Sample[] };

function tenthOf(turns: readonly Turn[], { usage, gauges, stored }: Measured) {
  const [from, to] = [turns[0]?.from ?? Number.NaN, turns.at(-1)?.to ?? Number.NaN];
  const aTurn = (samples: readonly Sample[]): number => (valueAt(samples, to) - valueAt(samples, from)) / turns.length;
  const isPageThere = gauges.pageCpu.length > 0;
  return {
    ms: median(turns.map((turn) => turn.to - turn.from)),
    cpuMs: median(turns.map((turn) => valueAt(usage.samples, turn.to) - valueAt(usage.samples, turn.from))),
    stored: aTurn(stored),
    database: aTurn(gauges.database),
    memory: valueAt(gauges.memory, to),
    pageCpuMs: isPageThere ? aTurn(gauges.pageCpu) : null,
    pageMemory: isPageThere ? valueAt(gauges.pageMemory, to) : null,
  };
}

/** A table for each run, with the last tenth as a multiple of the second under it. */
export function renderSlope(rows: readonly SlopeRow[]): string {
  const head = ['to turn', 'ms', 'worker CPU ms', 'worker MB', 'store bytes', 'database bytes'];
  const pageHead = ['page CPU ms', 'page MB'];
  const names = [...new Set(rows.map(nameOf))];
  return names
    .map((name) => {
      const run = rows.filter((row) => nameOf(row) === name);
      const table = renderTable(run[0]?.viewer ? [...head, ...pageHead] : head, [...run.map(cellsOf), slopeOf(run)]);
      return `${name}\n${table}`;
    })
    .join('\n\n');
}

const nameOf = ({ subject, viewer }: SlopeRow): string => `${subject}, ${viewer ? 'a viewer' : 'no viewer'}`;

function cellsOf(row: SlopeRow): readonly string[] {
  const { to, ms, cpuMs: cpu, memory, stored, database, pageCpuMs, pageMemory } = row;
  const page = pageCpuMs === null ? [] : [pageCpuMs.toFixed(1), megabytes(pageMemory)];
  return [
    String(to),
    ms.toFixed(1),
    cpu.toFixed(1),
    megabytes(memory),
    stored.toFixed(0),
    database.toFixed(0),
    ...page,
  ];
}

function slopeOf(run: readonly SlopeRow[]): readonly string[] {
  const [second, last] = [run[1], run.at(-1)];
  const of = (name: Exclude<keyof SlopeRow, 'subject' | 'viewer'>): string =>
    `× ${((last?.[name] ?? Number.NaN) / (second?.[name] ?? Number.NaN)).toFixed(2)}`;
  const page = last?.viewer ? [of('pageCpuMs'), of('pageMemory')] : [];
  return ['last / second', of('ms'), of('cpuMs'), of('memory'), of('stored'), of('database'), ...page];
}

const megabytes = (bytes: number | null): string => ((bytes ?? Number.NaN) / 1e6).toFixed(0);
