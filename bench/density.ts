// Many sessions at once on one worker: what a turn takes of the worker's CPU, and how long all of
// them take beside the floor.
import type { BenchServer } from './bench-server.ts';
import { wallOf } from './history.ts';
import type { Subject } from './subjects.ts';
import { median } from './table.ts';

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
