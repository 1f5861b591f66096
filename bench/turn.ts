// Turns of one session alone: events, history bytes, milliseconds and CPU of the worker at turns 1,
// 10, 100 and 500. Agents: what it takes to start one beside a child workflow of the engine (the
// floor), and what a turn of one takes when many work at once.
import type { BenchServer } from './bench-server.ts';
import { turnsOf, startsOf } from './history.ts';
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

const CALL_MODEL = 'perdure.callModel';
const STARTS = 30;
const AT_ONCE = 40;

export type AgentRow = { readonly what: string; readonly ms: number; readonly ratio: number | null };

/** Interleaved, so that a slow minute of the machine is everyone's. */
export async function measureAgents(
  bench: BenchServer,
  rounds: number,
  say: (line: string) => void,
): Promise<readonly AgentRow[]> {
  const [floor, agent, turn]: [number[], number[], number[]] = [[], [], []];
  for (let round = 1; round <= rounds; round += 1) {
    say(`round ${round} of ${rounds}: children`);
    floor.push(...(await starts(bench, 'children', 'nothing')));
    say(`round ${round} of ${rounds}: agents`);
    agent.push(...(await starts(bench, 'agents', CALL_MODEL)));
    say(`round ${round} of ${rounds}: ${AT_ONCE} agents at once`);
    turn.push(...(await turnsAtOnce(bench)));
  }
  const [child, started] = [median(floor), median(agent)];
  return [
    { what: 'starting a child workflow', ms: child, ratio: 1 },
    { what: 'starting an agent', ms: started, ratio: started / child },
    { what: `a turn of ${AT_ONCE} agents at once, p95`, ms: highest(turn, 0.95), ratio: null },
  ];
}

async function starts(bench: BenchServer, subject: 'children' | 'agents', first: string): Promise<readonly number[]> {
  const { workflowIds } = await bench.run({ subject, sessions: 1, turns: STARTS, warmUp: 1 });
  return (await startsOf(bench.client, workflowIds[0] ?? '', first)).map(({ ms }) => ms);
}

/** Of a model that answers at once: what is left is overhead. */
async function turnsAtOnce(bench: BenchServer): Promise<readonly number[]> {
  const { workflowIds } = await bench.run({ subject: 'agents', sessions: 1, turns: 1, width: AT_ONCE, warmUp: 1 });
  const agents = await startsOf(bench.client, workflowIds[0] ?? '', CALL_MODEL);
  const turns = await Promise.all(agents.map(({ child }) => turnsOf(bench.client, child, CALL_MODEL, 1)));
  return turns.flat().map(({ from, to }) => to - from);
}

function highest(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN;
}
