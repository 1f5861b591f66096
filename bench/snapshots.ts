// Snapshots of workspaces: what the first and the later ones take of a folder, git in its sandbox
// and all, and turns with them and without, in one sitting.
import { appendFile, mkdtemp, readdir, readFile, realpath, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { CapturePool } from '../activities/snapshots/capture-pool.ts';
import { placeOfRoot } from '../store/snapshots/shadow.ts';
import { DEFAULT_CAPS } from '../store/snapshots/take-snapshot.ts';
import { probeSandbox, type Sandbox } from '../tools/sandbox.ts';
import type { SessionId } from '../workflows/contract/ids.ts';
import type { BenchServer } from './bench-server.ts';
import { fillFolder } from './fill-folder.ts';
import { turnsOf } from './history.ts';
import type { Subject } from './subjects.ts';
import { median } from './table.ts';

export type SnapshotRow = { readonly what: string; readonly ms: number; readonly cpuMs: number | null };

const LATER = 7;
/** The unit of `cutime` and `cstime` in /proc/self/stat. */
const TICK_MS = 10;

/** Measures folders of each of the numbers of files. */
export async function measureFolders(sizes: readonly number[], say: (line: string) => void): Promise<SnapshotRow[]> {
  const sandbox = await probeSandbox();
  const rows: SnapshotRow[] = [];
  for (const files of sizes) {
    say(`a folder of ${files} files, under a load of ${loadavg()[0]?.toFixed(1)}`);
    const measured = await measureFolder(sandbox, files);
    for (const { what, ms, cpuMs } of measured)
      say(`${what}: ${ms.toFixed(0)} ms, ${cpuMs?.toFixed(0) ?? '?'} ms of CPU`);
    rows.push(...measured);
  }
  return rows;
}

async function measureFolder(sandbox: Sandbox, files: number): Promise<SnapshotRow[]> {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'perdure-bench-files-')));
  const dataDir = await realpath(await mkdtemp(join(tmpdir(), 'perdure-bench-data-')));
  const pool = new CapturePool({ sandbox, dataDir, log: () => undefined });
  try {
    await fillFolder(root, files);
    const place = placeOfRoot(dataDir, 's-bench' as SessionId, root);
    const git = sandbox.programs.at('git');
    let before: string | null = null;
    const capture = () => pool.capture({ place, git, caps: DEFAULT_CAPS, include: [], before, trustsWatch: true });
    const take = () => timed(async () => void ({ id: before } = await capture()));
    const first = await take();
    await take();
    const [changed, same]: [Cost[], Cost[]] = [[], []];
    for (let round = 0; round < LATER; round += 1) {
      await appendFile(join(root, 'src', 'part-0', `file-${round}.ts`), `// ${round}\n`);
      changed.push(await take());
      same.push(await take());
    }
    const row = (what: string, costs: readonly Cost[]): SnapshotRow => ({
      what: `${files} files, ${what}`,
      ms: median(costs.map(({ ms }) => ms)),
      cpuMs: median(costs.map(({ cpuMs }) => cpuMs)),
    });
    return [row('the first', [first]), row('a later one with one change', changed), row('a later one without', same)];
  } finally {
    await pool.close();
    await rm(root, { recursive: true, force: true });
    await rm(dataDir, { recursive: true, force: true });
  }
}

type Cost = { readonly ms: number; readonly cpuMs: number };

async function timed(work: () => Promise<void>): Promise<Cost> {
  const before = await startedCpu();
  const [began, cpu] = [performance.now(), process.cpuUsage()];
  await work();
  const ms = performance.now() - began;
  const { user, system } = process.cpuUsage(cpu);
  return { ms, cpuMs: (user + system) / 1_000 + (await startedCpu()) - before };
}

/** CPU of all that this process has started, in milliseconds. */
async function startedCpu(): Promise<number> {
  const stats = new Map<string, readonly string[]>();
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const stat = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => '');
    stats.set(pid, stat.slice(stat.lastIndexOf(')') + 2).split(' '));
  }
  const isOurs = (pid: string): boolean => {
    const parent = stats.get(pid)?.[1] ?? '0';
    return parent === String(process.pid) || (parent !== '0' && isOurs(parent));
  };
  const started = [...stats.keys()].filter(isOurs);
  const ownStats = [...started, String(process.pid)].map((pid) => stats.get(pid) ?? []);
  const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);
  const ticks = sum(ownStats.map((fields) => Number(fields[13]) + Number(fields[14])));
  return ticks * TICK_MS + sum(await Promise.all(started.map(runningMs)));
}

/** CPU of a process so far, to the nanosecond. */
async function runningMs(pid: string): Promise<number> {
  const tasks = await readdir(`/proc/${pid}/task`).catch(() => []);
  const read = (task: string) => readFile(`/proc/${pid}/task/${task}/schedstat`, 'latin1').catch(() => '0');
  const texts = await Promise.all(tasks.map(read));
  return texts.reduce((total, text) => total + Number(text.split(' ')[0]) / 1e6, 0);
}

export type CapturedTurnRow = {
  readonly what: string;
  readonly without: number;
  readonly with: number;
  /** Milliseconds of turns with snapshots as a share of those without. */
  readonly ratio: number;
};

const TURNS = 24;
/** Turns at the beginning that are not counted. */
const WARM_UP_TURNS = 4;
const FILES = 5_000;

/**
 * Turns of a session alone in a workspace of 5,000 files, whose model answers at once or after
 * `answerMs`: a capture runs while it does.
 */
export async function measureCapturedTurns(
  bench: BenchServer,
  {
    rounds,
    answerMs,
    say,
  }: { readonly rounds: number; readonly answerMs: number; readonly say: (line: string) => void },
): Promise<CapturedTurnRow[]> {
  const rows: CapturedTurnRow[] = [];
  for (const [subject, wait] of [
    ['write', 0],
    ['bash', 0],
    ['write', answerMs],
    ['bash', answerMs],
  ] as const) {
    const [without, captured]: [number[], number[]] = [[], []];
    for (let round = 1; round <= rounds; round += 1) {
      say(`round ${round} of ${rounds}: ${subject}, replies after ${wait} ms, load ${loadavg()[0]?.toFixed(1)}`);
      without.push(...(await turnTimes(bench, subject, { answerMs: wait, snapshots: false })));
      captured.push(...(await turnTimes(bench, subject, { answerMs: wait, snapshots: true })));
    }
    const what = `${subject}, replies ${wait === 0 ? 'at once' : `after ${wait} ms`}`;
    const [a, b] = [median(without), median(captured)];
    rows.push({ what, without: a, with: b, ratio: b / a });
    say(`${what}: ${a.toFixed(1)} ms without, ${b.toFixed(1)} ms with`);
  }
  return rows;
}

async function turnTimes(
  bench: BenchServer,
  subject: Subject,
  how: { readonly answerMs: number; readonly snapshots: boolean },
): Promise<readonly number[]> {
  const { workflowIds } = await bench.run({ subject, sessions: 1, turns: TURNS, files: FILES, ...how });
  const turns = await turnsOf(bench.client, workflowIds[0] ?? '', 'perdure.callModel', 1);
  return turns.slice(WARM_UP_TURNS).map(({ from, to }) => to - from);
}
