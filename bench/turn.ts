// One session alone: events, history bytes, milliseconds and CPU of the worker at turns 1, 10, 100
// and 500.
import type { BenchServer } from './bench-server.ts';
import { turnsOf } from './history.ts';
import { opensTurn, type Subject } from './subjects.ts';
import { valueAt } from './samples.ts';
import { median } from './table.ts';

type Measured = { readonly events: number; readonly bytes: number; readonly ms: number; readonly cpuMs: number };
type Row = Measured & { readonly subject: Subject; readonly turn: number };

export type TurnRow = Row & {
  /** `ms` and `cpuMs` as shares of the floor's at the same turn. */
  readonly ratio: number;
  readonly cpuRatio: number;
};

const TURNS = 506;

/** Around each turn, the ones taken with it: a single turn is noise. */
const AROUND: Readonly<Record<number, readonly [from: number, to: number]>> = {
  1: [1, 3],
  10: [7, 13],
  100: [95, 105],
  500: [495, 505],
};

export async function measureTurns(bench: BenchServer, subject: Subject): Promise<Row[]> {
  const { workflowIds, after } = await bench.run({ subject, sessions: 1, turns: TURNS });
  const turns = await turnsOf(bench.client, workflowIds[0] ?? '', ...opensTurn(subject));
  return Object.entries(AROUND).flatMap(([turn, [first, last]]) =>
    turns.slice(first - 1, last).map(({ events, bytes, from, to }) => {
      const cpuMs = valueAt(after.samples, to) - valueAt(after.samples, from);
      return { subject, turn: Number(turn), events, bytes, ms: to - from, cpuMs };
    }),
  );
}

/** Medians. */
export function turnTable(rows: readonly Row[]): readonly TurnRow[] {
  const turns = [...new Set(rows.map(({ turn }) => turn))];
  const subjects = [...new Set(rows.map(({ subject }) => subject))];
  return turns.flatMap((turn) => {
    const floor = medians(rows, turn, 'floor');
    return subjects.map((subject) => {
      const row = medians(rows, turn, subject);
      return { turn, subject, ...row, ratio: row.ms / floor.ms, cpuRatio: row.cpuMs / floor.cpuMs };
    });
  });
}

function medians(rows: readonly Row[], turn: number, subject: Subject): Measured {
  const those = rows.filter((row) => row.turn === turn && row.subject === subject);
  const of = (name: keyof Measured): number => median(those.map((row) => row[name]));
  return { events: of('events'), bytes: of('bytes'), ms: of('ms'), cpuMs: of('cpuMs') };
}
