// What one durable one-tool turn costs, beside the engine's floor (two no-op activities a turn): events, history bytes and
// milliseconds at turns 1, 10, 100 and 500, on one server in one sitting, interleaved. `--json` prints one JSON object.
import { benchServer } from './bench-server.ts';
import { measure, type Row, type Subject } from './measure.ts';
import { table } from './table.ts';

const json = process.argv.includes('--json');
const say = (line: string): void => void process.stderr.write(`${line}\n`);

const SUBJECTS: readonly Subject[] = ['floor', 'safe', 'effectful'];
const ROUNDS = 2;

const bench = await benchServer(say);
try {
  const rows: Row[] = [];
  // Interleaved, so that a slow minute of the machine is everyone's.
  for (let round = 1; round <= ROUNDS; round += 1) {
    for (const subject of SUBJECTS) {
      say(`round ${round} of ${ROUNDS}: ${subject}`);
      rows.push(...(await measure(bench, subject)));
    }
  }
  process.stdout.write(json ? `${JSON.stringify({ turns: table(rows) })}\n` : `${render(table(rows))}\n`);
} finally {
  await bench.close();
}

function render(rows: ReturnType<typeof table>): string {
  const head = ['turn', 'subject', 'events', 'bytes', 'ms', '× floor'];
  const lines = rows.map((row) => [
    String(row.turn),
    row.subject,
    row.events.toFixed(1),
    row.bytes.toFixed(0),
    row.ms.toFixed(1),
    row.ratio.toFixed(2),
  ]);
  const widths = head.map((cell, column) => Math.max(cell.length, ...lines.map((line) => line[column]?.length ?? 0)));
  return [head, ...lines]
    .map((line) => line.map((cell, column) => cell.padStart(widths[column] ?? 0)).join('  '))
    .join('\n');
}
