// Runs one subject for its full length and takes the turns around 1, 10, 100 and 500.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { BenchServer } from './bench-server.ts';
import { turnsOf, type Turn } from './history.ts';

export type Subject = 'floor' | 'safe' | 'effectful';
export type Row = Turn & { readonly subject: Subject; readonly turn: number };

const TURNS = 506;

/** Around each turn, the ones taken with it: a single turn is noise. */
const AROUND: Readonly<Record<number, readonly [from: number, to: number]>> = {
  1: [1, 3],
  10: [7, 13],
  100: [95, 105],
  500: [495, 505],
};

export async function measure(bench: BenchServer, subject: Subject): Promise<Row[]> {
  const turns = subject === 'floor' ? await floorTurns(bench) : await sessionTurns(bench, subject);
  return Object.entries(AROUND).flatMap(([turn, [from, to]]) =>
    turns.slice(from - 1, to).map((each) => ({ ...each, subject, turn: Number(turn) })),
  );
}

async function floorTurns({ client, runFloor }: BenchServer): Promise<Turn[]> {
  return turnsOf(client, await runFloor(TURNS), 'nothing', 2);
}

async function sessionTurns({ client, runSession }: BenchServer, subject: 'safe' | 'effectful'): Promise<Turn[]> {
  const [tool, input] =
    subject === 'safe' ? (['read', '{"path":"small.txt"}'] as const) : (['note', '{"line":"a line"}'] as const);
  const program = fileURLToPath(new URL('./model-process.js', import.meta.url));
  const model = spawn(process.execPath, [program, tool, input, String(TURNS)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  try {
    const [url] = (await once(model.stdout, 'data')) as [Buffer];
    return await turnsOf(client, await runSession(url.toString().trim()), 'callModel', 1);
  } finally {
    model.stdin.end();
  }
}
