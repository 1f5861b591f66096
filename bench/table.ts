// From single measurements to medians, and to what each is of the floor at the same turn.
import type { Row, Subject } from './measure.ts';

export type TableRow = {
  readonly turn: number;
  readonly subject: Subject;
  readonly events: number;
  readonly bytes: number;
  readonly ms: number;
  readonly ratio: number;
};

export function table(rows: readonly Row[]): readonly TableRow[] {
  const turns = [...new Set(rows.map(({ turn }) => turn))];
  const subjects = [...new Set(rows.map(({ subject }) => subject))];
  return turns.flatMap((turn) => {
    const floor = medians(rows, turn, 'floor').ms;
    return subjects.map((subject) => {
      const row = medians(rows, turn, subject);
      return { turn, subject, ...row, ratio: row.ms / floor };
    });
  });
}

function medians(rows: readonly Row[], turn: number, subject: Subject): Pick<TableRow, 'events' | 'bytes' | 'ms'> {
  const those = rows.filter((row) => row.turn === turn && row.subject === subject);
  const of = (name: 'events' | 'bytes' | 'ms'): number => median(those.map((row) => row[name]));
  return { events: of('events'), bytes: of('bytes'), ms: of('ms') };
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  const upper = sorted[Math.floor(middle)] ?? Number.NaN;
  return Number.isInteger(middle) ? (upper + (sorted[middle - 1] ?? Number.NaN)) / 2 : upper;
}
