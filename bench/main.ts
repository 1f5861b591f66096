// The cost of one durable one-tool turn, beside the engine's floor (two no-op activities a turn), on one server in one sitting, interleaved:
// in a session alone, or with `density` in fifty at once. Names of subjects take those alone, beside the floor; `--rounds` how often
// (2); `--json` prints one JSON object. `page` measures the ops page, with `--sessions` (10,000) and one of `--iterations` (5,000);
// `agent-sdk` measures perdure/agent-sdk beside query(), three pairs a round; `agents` what it takes to start agents, and their turns.
import { parseArgs } from 'node:util';
import { type AgentRow, measureAgents } from './agents.ts';
import { measureSdk, type SdkRow } from './agent-sdk.ts';
import { benchServer, type BenchServer } from './bench-server.ts';
import { densityTable, measureDensity, type DensityRow } from './density.ts';
import { measurePage, renderPage } from './page/page.ts';
import type { Subject } from './subjects.ts';
import { renderTable } from './table.ts';
import { measureTurns, turnTable, type TurnRow } from './turn.ts';

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: 'boolean' },
    rounds: { type: 'string', default: '2' },
    sessions: { type: 'string', default: '10000' },
    iterations: { type: 'string', default: '5000' },
  },
});
const say = (line: string): void => void process.stderr.write(`${line}\n`);
const print = (line: string): void => void process.stdout.write(`${line}\n`);

if (positionals[0] === 'page') {
  const load = { sessions: Number(flags.sessions), iterations: Number(flags.iterations) };
  const rows = await measurePage(say, load);
  print(flags.json ? JSON.stringify({ page: rows }) : renderPage(rows));
  process.exit(0);
}

if (positionals[0] === 'agent-sdk') {
  const rows = await measureSdk(3 * Number(flags.rounds), say);
  print(flags.json ? JSON.stringify({ agentSdk: rows }) : renderSdk(rows));
  process.exit(0);
}

const density = positionals[0] === 'density';
const named = positionals[0] === 'agents' ? [] : positionals.slice(density ? 1 : 0);
const all: readonly Subject[] = density
  ? ['floor', 'safe', 'write', 'bash']
  : ['floor', 'safe', 'effectful', 'write', 'bash'];
const unknown = named.find((name) => !all.some((subject) => subject === name));
if (unknown !== undefined) throw new Error(`there is no subject ${unknown}: name some of ${all.join(', ')}`);
const subjects = all.filter((subject) => named.length === 0 || subject === 'floor' || named.includes(subject));

const bench = await benchServer(say);
try {
  if (positionals[0] === 'agents') {
    const rows = await measureAgents(bench, Number(flags.rounds), say);
    print(flags.json ? JSON.stringify({ agents: rows }) : renderAgents(rows));
  } else if (density) {
    const rows = densityTable(await interleaved(bench, measureDensity));
    print(flags.json ? JSON.stringify({ density: rows }) : renderDensity(rows));
  } else {
    const rows = turnTable(await interleaved(bench, measureTurns));
    print(flags.json ? JSON.stringify({ turns: rows }) : renderTurns(rows));
  }
} finally {
  await bench.close();
}

/** So that a slow minute of the machine is everyone's. */
async function interleaved<Row>(
  on: BenchServer,
  measure: (bench: BenchServer, subject: Subject) => Promise<Row[]>,
): Promise<Row[]> {
  const rows: Row[] = [];
  const rounds = Number(flags.rounds);
  for (let round = 1; round <= rounds; round += 1) {
    for (const subject of subjects) {
      say(`round ${round} of ${rounds}: ${subject}`);
      rows.push(...(await measure(on, subject)));
    }
  }
  return rows;
}

function renderTurns(rows: readonly TurnRow[]): string {
  const head = ['turn', 'subject', 'events', 'bytes', 'ms', '× floor', 'worker CPU ms', '× floor'];
  const lines = rows.map((row) => [
    String(row.turn),
    row.subject,
    row.events.toFixed(1),
    row.bytes.toFixed(0),
    row.ms.toFixed(1),
    row.ratio.toFixed(2),
    row.cpuMs.toFixed(1),
    row.cpuRatio.toFixed(2),
  ]);
  return renderTable(head, lines);
}

function renderSdk(rows: readonly SdkRow[]): string {
  const head = ['by', 'ms a turn', '× query()', 'CPU ms a turn', '× query()'];
  const lines = rows.map((row) => [
    row.subject,
    row.ms.toFixed(1),
    row.ratio.toFixed(3),
    row.cpuMs.toFixed(1),
    row.cpuRatio.toFixed(3),
  ]);
  return renderTable(head, lines);
}

function renderAgents(rows: readonly AgentRow[]): string {
  const lines = rows.map(({ what, ms, ratio }) => [what, ms.toFixed(1), ratio === null ? '' : ratio.toFixed(2)]);
  return renderTable(['', 'ms', '× floor'], lines);
}

function renderDensity(rows: readonly DensityRow[]): string {
  const head = ['subject', 'worker CPU ms/turn', 'started CPU ms/turn', 'wall ms', '× floor'];
  const lines = rows.map((row) => [
    row.subject,
    row.cpuMs.toFixed(1),
    row.startedMs.toFixed(1),
    row.wallMs.toFixed(0),
    row.ratio.toFixed(2),
  ]);
  return renderTable(head, lines);
}
