// Snapshots of workspaces: what the first and the later ones take of a folder, git in its sandbox
// and all, and turns with them and without, in one sitting.
import { spawnSync } from 'node:child_process';
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { appendFile, mkdtemp, readFile, realpath, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { placeOfRoot, snapshotsFolderOf } from '../store/snapshots/shadow.ts';
import { DEFAULT_CAPS, type RunHeld, takeSnapshot } from '../store/snapshots/take-snapshot.ts';
import { keyringFilter } from '../system/process/keyring-filter.mjs';
import { probeSandbox, type Sandbox } from '../tools/sandbox.ts';
import type { SessionId } from '../workflows/contract/ids.ts';
import type { BenchServer } from './bench-server.ts';
import { fillFolder } from './fill-folder.ts';
import { turnsOf } from './history.ts';
import type { Subject } from './subjects.ts';
import { median } from './table.ts';

export type SnapshotRow = { readonly what: string; readonly ms: number; readonly cpuMs: number | null };

const LATER = 7;
const MOST_PRINTED = 512 * 1024 * 1024;
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
  try {
    await fillFolder(root, files);
    const place = placeOfRoot(dataDir, 's-bench' as SessionId, root);
    const means = { place, git: sandbox.programs.at('git'), run: runHeldHere(sandbox, dataDir), caps: DEFAULT_CAPS };
    let before: string | null = null;
    const take = () => timed(async () => void ({ id: before } = await takeSnapshot(means, before)));
    const first = await take();
    // The index is younger than the files only from the next second on.
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
    await rm(root, { recursive: true, force: true });
    await rm(dataDir, { recursive: true, force: true });
  }
}

type Cost = { readonly ms: number; readonly cpuMs: number };

/** CPU of this process and of those that it started. */
async function timed(work: () => Promise<void>): Promise<Cost> {
  const [began, cpu] = [performance.now(), await cpuNow()];
  await work();
  return { ms: performance.now() - began, cpuMs: (await cpuNow()) - cpu };
}

async function cpuNow(): Promise<number> {
  const stat = await readFile('/proc/self/stat', 'latin1');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000 + (Number(fields[13]) + Number(fields[14])) * TICK_MS + sandboxedMs;
}

/** The CPU of what a sandbox holds is not that of a child of ours: it is printed at its end. */
const COUNTED = '"$@"; status=$?; times >&2; exit $status';
let sandboxedMs = 0;

/** Reads the last line of `times`: user and system time of children. */
function cpuOf(printed: string): number {
  const last = printed.trimEnd().split('\n').at(-1) ?? '';
  const parts = [...last.matchAll(/(\d+)m([\d.]+)s/g)];
  return parts.reduce((sum, [, minutes, seconds]) => sum + Number(minutes) * 60_000 + Number(seconds) * 1_000, 0);
}

function runHeldHere(sandbox: Sandbox, dataDir: string): RunHeld {
  const filterFile = join(dataDir, 'filter');
  writeFileSync(filterFile, keyringFilter() ?? '');
  return (argv, { env, cwd }) => {
    const counted = ['bash', '-c', COUNTED, 'bash', ...argv];
    const wrapped = sandbox.wrap(counted, { cwd: snapshotsFolderOf(dataDir), dir: cwd, dataDir, offline: true });
    const [program = '', ...args] = wrapped;
    // The sandbox reads its filter from descriptor 3.
    const filter = openSync(filterFile, 'r');
    const options = { cwd, encoding: 'latin1', maxBuffer: MOST_PRINTED } as const;
    const all = { ...sandbox.programs.environment(), ...env };
    const stdio = ['ignore', 'pipe', 'pipe', filter] as const;
    const { status, stdout, stderr } = spawnSync(program, args, { ...options, env: all, stdio: [...stdio] });
    closeSync(filter);
    sandboxedMs += cpuOf(stderr);
    if (status !== 0) return Promise.reject(new Error(stderr));
    return Promise.resolve(stdout);
  };
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
const YOUNG = 4;
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
  return turns.slice(YOUNG).map(({ from, to }) => to - from);
}
