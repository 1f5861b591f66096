// The cost of one durable one-tool turn, beside the engine's floor (two no-op activities a turn),
// on one server in one sitting, interleaved: in a session alone, or with `density` in fifty at
// once. Names of subjects take those alone, beside the floor; `--rounds` how often (2); `--json`
// prints one JSON object. `page` measures the ops page, with `--sessions` (10,000) and one of
// `--iterations` (5,000); `agent-sdk` measures perdure/agent-sdk beside query(), three pairs a
// round; `agents` what it takes to start agents, and their turns; `bucket` turns with their store
// in the bucket of PERDURE_STORE, each of whose requests takes `--delay` milliseconds (10) longer;
// `snapshots` captures of workspaces, turns with them and without, of a model that answers at once
// and of one that takes `--answer` milliseconds (1000), and what rewinds and forks take; `forks`
// these alone; `slope` the tenths of sessions of `--turns` turns (3,000), with a viewer and, alone
// with `--unwatched`, without; `peers` turns beside those of an agent in process; `capacity` a
// worker with sessions at rest (`--sessions`: counts with commas between them), and starts; `fleet`
// lists of sessions that nobody had to run (`--sessions`: counts with commas between them), of a
// command and of the page; `managed` the Managed Agents API with `--sessions` (1,000) idle ones and
// a tenth as many at work; `plan` prints the tables of docs/capacity.md, and `units` measures what
// they are computed from; `starved` what becomes of workflow tasks where `--busy` processes (16)
// compute beside `--sessions` (60), in `--seconds` (60) before worker and server are killed and
// after it.
import { parseArgs } from 'node:util';
import { measureSdk, type SdkRow } from './agent-sdk.ts';
import { benchServer, type BenchServer } from './bench-server.ts';
import { type BucketRow, measureBucket } from './bucket.ts';
import {
  densityTable,
  measureDensity,
  measureRest,
  measureStarts,
  type DensityRow,
  type RestRow,
  type StartRow,
} from './capacity.ts';
import { fleetCells, type FleetRow, measureFleet } from './fleet.ts';
import { type ForkRow, measureForks } from './forks.ts';
import { measureManaged } from './managed.ts';
import { measurePage, renderPage } from './page/page.ts';
import { planTables } from './plan.ts';
import { measurePeers, type PeerRow, PEERS } from './peers.ts';
import { measureStarved, type StarvedRow } from './starved.ts';
import { type CapturedTurnRow, measureCapturedTurns, measureFolders, type SnapshotRow } from './snapshots.ts';
import { measureSlope, renderSlope, SLOPES } from './slope.ts';
import type { Subject } from './subjects.ts';
import { median, renderTable } from './table.ts';
import { type UnitRow, measureUnits } from './units.ts';
import { type AgentRow, measureAgents, measureTurns, turnTable, type TurnRow } from './turn.ts';

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: 'boolean' },
    rounds: { type: 'string', default: '2' },
    sessions: { type: 'string' },
    busy: { type: 'string', default: '16' },
    seconds: { type: 'string', default: '60' },
    iterations: { type: 'string', default: '5000' },
    delay: { type: 'string', default: '10' },
    answer: { type: 'string', default: '1000' },
    turns: { type: 'string', default: '3000' },
    unwatched: { type: 'boolean', default: false },
  },
});
const say = (line: string): void => void process.stderr.write(`${line}\n`);

process.stdout.write(`${await measured(positionals[0] ?? 'turns')}\n`);
// Temporal's runtime would keep the process.
process.exit(0);

/** The table, or its rows as JSON. */
async function measured(subject: string): Promise<string> {
  const rounds = Number(flags.rounds);
  const format = <Row>(name: string, rows: readonly Row[], render: (rows: readonly Row[]) => string): string =>
    flags.json ? JSON.stringify({ [name]: rows }) : render(rows);
  switch (subject) {
    case 'page': {
      const load = { sessions: Number(flags.sessions ?? 10_000), iterations: Number(flags.iterations) };
      return format('page', await measurePage(say, load), renderPage);
    }
    case 'agent-sdk':
      return format('agentSdk', await measureSdk(3 * rounds, say), renderSdk);
    case 'bucket':
      return format('bucket', await measureBucket(process.env, Number(flags.delay), rounds, say), renderBucket);
    case 'agents':
      return format('agents', await withServer((bench) => measureAgents(bench, rounds, say)), renderAgents);
    case 'snapshots': {
      const folders = await measureFolders([5_000, 50_000], say);
      const answerMs = Number(flags.answer);
      const { turns, forks } = await withServer(async (bench) => ({
        turns: await measureCapturedTurns(bench, { rounds, answerMs, say }),
        forks: await measureForks(bench, say),
      }));
      if (flags.json) return JSON.stringify({ folders, turns, forks });
      return [renderFolders(folders), renderCapturedTurns(turns), renderForks(forks)].join('\n\n');
    }
    case 'starved': {
      const load = { sessions: Number(flags.sessions ?? 60), busy: Number(flags.busy), seconds: Number(flags.seconds) };
      return format('starved', await measureStarved(load, say), renderStarved);
    }
    case 'capacity': {
      const counts = (flags.sessions ?? '10,100,300,1000').split(',').map(Number);
      const starts = await measureStarts(3 * rounds, say);
      const rest = await withServer((bench) => measureRest(bench, counts, say));
      if (flags.json) return JSON.stringify({ rest, starts });
      return [renderRest(rest), renderStarts(starts)].join('\n\n');
    }
    case 'fleet': {
      const counts = (flags.sessions ?? '10000,100000').split(',').map(Number);
      return format('fleet', await measureFleet(counts, say), renderFleet);
    }
    case 'managed': {
      const idle = Number(flags.sessions ?? 1_000);
      return format('managed', await measureManaged({ idle, working: idle / 10 }, say), renderPage);
    }
    case 'plan':
      return planTables();
    case 'units':
      return format('units', await withServer((bench) => measureUnits(bench, say)), renderUnits);
    case 'forks':
      return format('forks', await withServer((bench) => measureForks(bench, say)), renderForks);
    case 'peers': {
      const options = { subjects: named(PEERS, positionals.slice(1)), rounds, say };
      return format('peers', await withServer((bench) => measurePeers(bench, options)), renderPeers);
    }
    case 'slope': {
      const load = {
        subjects: named(SLOPES, positionals.slice(1)),
        turns: Number(flags.turns),
        isWatched: !flags.unwatched,
      };
      return format('slope', await withServer((bench) => measureSlope(bench, { ...load, say })), renderSlope);
    }
    case 'density': {
      const subjects = besideFloor(['safe', 'write', 'bash'], positionals.slice(1));
      const rows = await withServer((bench) => interleaved(bench, subjects, measureDensity));
      return format('density', densityTable(rows), renderDensity);
    }
    default: {
      const subjects = besideFloor(['safe', 'effectful', 'write', 'bash'], positionals);
      const rows = await withServer((bench) => interleaved(bench, subjects, measureTurns));
      return format('turns', turnTable(rows), renderTurns);
    }
  }
}

function besideFloor(all: readonly Subject[], names: readonly string[]): readonly Subject[] {
  return ['floor', ...named(all, names)];
}

/** Those that are asked for; all when none is. */
function named<Name extends string>(all: readonly Name[], names: readonly string[]): readonly Name[] {
  const unknown = names.find((name) => !all.some((subject) => subject === name));
  if (unknown !== undefined) throw new Error(`there is no subject ${unknown}: name some of ${all.join(', ')}`);
  return all.filter((subject) => names.length === 0 || names.includes(subject));
}

async function withServer<Rows>(measure: (bench: BenchServer) => Promise<Rows>): Promise<Rows> {
  const bench = await benchServer(say);
  try {
    return await measure(bench);
  } finally {
    await bench.close();
  }
}

/** So that a slow minute of the machine is everyone's. */
async function interleaved<Row>(
  on: BenchServer,
  subjects: readonly Subject[],
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

function renderBucket(rows: readonly BucketRow[]): string {
  return renderTable(
    ['', 'ms'],
    rows.map(({ what, ms }) => [what, ms.toFixed(1)]),
  );
}

function renderFolders(rows: readonly SnapshotRow[]): string {
  const lines = rows.map(({ what, ms, cpuMs }) => [what, ms.toFixed(0), cpuMs?.toFixed(0) ?? '']);
  return renderTable(['snapshot', 'ms', 'CPU ms'], lines);
}

function renderCapturedTurns(rows: readonly CapturedTurnRow[]): string {
  const lines = rows.map((row) => [row.what, row.without.toFixed(1), row.with.toFixed(1), row.ratio.toFixed(3)]);
  return renderTable(['turn', 'ms without', 'ms with', '× without'], lines);
}

function renderForks(rows: readonly ForkRow[]): string {
  const lines = rows.map(({ what, ms, worst }) => [what, ms.toFixed(0), worst.toFixed(0)]);
  return renderTable(['', 'ms', 'the slowest'], lines);
}

function renderPeers(rows: readonly PeerRow[]): string {
  const lines = rows.map(({ subject, floor, peer, ours: perdure, ratio }) => [
    subject,
    ...[floor, peer, perdure].map((ms) => ms.toFixed(1)),
    ratio.toFixed(2),
  ]);
  return renderTable(['', 'floor ms', 'in process ms', 'ours ms', '× in process'], lines);
}

function renderRest(rows: readonly RestRow[]): string {
  const head = ['at rest', 'worker MB', 'peak MB', '% of a core', 'begin ms', 'history', 'database', 'folder bytes'];
  const lines = rows.map((row) => [
    String(row.sessions),
    ...[row.memory, row.peak].map((bytes) => (bytes / 1e6).toFixed(0)),
    (row.core * 100).toFixed(2),
    row.beginMs.toFixed(1),
    ...[row.historyBytes, row.databaseBytes, row.folderBytes].map((bytes) => bytes.toFixed(0)),
  ]);
  return renderTable(head, lines);
}

function renderUnits(rows: readonly UnitRow[]): string {
  const lines = rows.map(({ what, turn, run }) => [what, turn.toFixed(1), run.toFixed(1)]);
  return renderTable(['', 'a turn', 'a run beside its turns'], lines);
}

function renderFleet(rows: readonly FleetRow[]): string {
  const head = ['sessions', 'list', 'p50 ms', 'slowest', 'again', 'CPU', 'server CPU', 'page MB', 'failed'];
  return renderTable(head, rows.map(fleetCells));
}

function renderStarts(rows: readonly StartRow[]): string {
  const of = (name: keyof StartRow): number => median(rows.map((row) => row[name]));
  return renderTable(['worker ready ms', 'MB'], [[of('readyMs').toFixed(0), (of('memory') / 1e6).toFixed(0)]]);
}

function renderStarved(rows: readonly StarvedRow[]): string {
  const head = ['', 'load', 'lost', 'moved', 'task ms', 'the longest', 'requests', 'went on', 'median s', 'the last s'];
  const lines = rows.map(({ what, load, lost: lostTasks, moved, taskMs, requests, wentOn }) => [
    what,
    load.toFixed(0),
    String(lostTasks),
    String(moved),
    median(taskMs).toFixed(0),
    Math.max(...taskMs).toFixed(0),
    String(requests),
    String(wentOn.length),
    (median(wentOn) / 1_000).toFixed(1),
    ((wentOn.at(-1) ?? Number.NaN) / 1_000).toFixed(1),
  ]);
  return renderTable(head, lines);
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
