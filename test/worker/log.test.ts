// The worker's log: JSON lines for programs, text for a person at a terminal, secrets and what acts
// on a terminal in neither.
import { expect, test } from 'vitest';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { formatLog } from '../../system/log.ts';
import type { Observation } from '../../store/live/observe.ts';
import { formatIdentity, processIdentity } from '../../system/process/identity.ts';
import { openLogStream, createWorkerLog, type LogOptions } from '../../worker/log.ts';
import { observeByLog } from '../../worker/monitor/watchers.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import { noSpend } from '../../workflows/contract/loop.ts';
import { tempDir } from '../support/temp-dir.ts';

const KEY = 'sk-canary-0123456789';

function written(isTTY: boolean, env: Record<string, string> = {}, options: LogOptions = {}) {
  const lines: string[] = [];
  return { lines, log: createWorkerLog({ isTTY, write: (line: string) => lines.push(line) }, env, options) };
}

test('writes a JSON line with level, time and process, and what is known of the run (O16)', () => {
  const { lines, log } = written(false);
  const worker = formatIdentity(processIdentity());
  const about = { session: 's-1', query: 's-1.2', depth: 0, run: 2, iteration: 3, attempt: 1 };
  log('warn', 'a hook failed', about);
  log('info', 'ready');
  expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
    {
      level: 'warn',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      pid: process.pid,
      worker,
      ...about,
      message: 'a hook failed',
    },
    { level: 'info', time: expect.any(String), pid: process.pid, worker, message: 'ready' },
  ]);
  expect(lines.every((line) => line.endsWith('}\n') && line.indexOf('\n') === line.length - 1)).toBe(true);
});

test('writes text on a terminal: time, level, the message and what it is about, then the stack', () => {
  const { lines, log } = written(true);
  log('error', 'a defect', { session: 's-1', iteration: 3, stack: 'Error: x\n  at y' });
  expect(lines[0]).toMatch(/^\d\d:\d\d:\d\d error a defect \(session s-1, iteration 3\)\nError: x\n {2}at y\n$/);
});

test.each([true, false])(
  'takes secrets out of messages and fields, and escapes what a terminal would obey (%s)',
  (tty) => {
    const { lines, log } = written(tty, {
      ANTHROPIC_API_KEY: 'a key',
      OTEL_EXPORTER_OTLP_HEADERS: `x=1,api-key=${KEY}`,
    });
    log('warn', `told ${KEY} \u001b[2J\u009b1m\u202e`, { session: `s-${KEY}`, stack: `at ${KEY}` });
    expect(lines.join('')).not.toContain(KEY);
    expect(lines.join('')).toContain('told [redacted]');
    expect(lines.join('').replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    if (!tty) expect((JSON.parse(lines[0] ?? '') as { message: string }).message).toContain('\u001b[2J\u009b1m\u202e');
  },
);

test('says of a line without fields the message alone', () => {
  expect(formatLog('ready')).toBe('ready');
});

test('leaves out what is below its level, and writes the format that it was told, on a terminal too (O16)', () => {
  const all = written(true, {}, { level: 'debug', format: 'json' });
  all.log('debug', 'a call');
  expect(JSON.parse(all.lines[0] ?? '')).toMatchObject({ level: 'debug', message: 'a call' });
  const few = written(false, {}, { level: 'error', format: 'text' });
  few.log('warn', 'not this');
  few.log('error', 'this');
  expect(few.lines).toEqual([expect.stringMatching(/ error this\n$/)]);
});

test('a log file is appended to, private, and one that cannot be opened is refused with a sentence (O16)', () => {
  const folder = tempDir();
  const path = join(folder, 'worker.log');
  const instead: string[] = [];
  const stderr = { write: (line: string) => instead.push(line) };
  for (const message of ['one', 'two']) createWorkerLog(openLogStream(path, stderr), {})('info', message);
  expect(
    readFileSync(path, 'utf8')
      .split('\n')
      .map((line) => line.slice(0, 15)),
  ).toEqual(['{"level":"info"', '{"level":"info"', '']);
  rmSync(folder, { recursive: true });
  expect(() => openLogStream(path, stderr)).toThrow(
    /^the log file .*worker\.log cannot be opened \(.*\): give another one$/,
  );
  expect(instead).toEqual([]);
});

test('an event of a run is a line with its session, run, iteration, step, attempt and call, and no content (O16)', () => {
  const { lines, log } = written(false, {}, { level: 'debug' });
  const observe = observeByLog(log);
  const run = { session: 's-1' as SessionId, chain: 'c', run: 2, queryId: 'c.2', depth: 0 };
  const about = { ...run, iteration: 3, step: 7, attempt: 2 };
  const seen = { chain: 'c', run: 2, iteration: 3, from: 0, to: 1_500 };
  const events: readonly Observation[] = [
    { kind: 'model_call', about, at: 0, ms: 1_200, model: 'claude-a', firstMs: 1, error: '529', spend: noSpend },
    { kind: 'tool_call', about, at: 0, ms: 10, tool: 'bash', callId: 'toolu_1', outcome: 'ok' },
    { kind: 'seen', session: 's-1', seen: { ...seen, kind: 'waited', call: '2.3.0', tool: 'bash', how: 'allow' } },
    {
      kind: 'seen',
      session: 's-1',
      seen: { ...seen, kind: 'run_ended', reason: 'model_error', bad: true, turns: 1, model: null, spend: noSpend },
    },
    { kind: 'store', at: 0, ms: 1, operation: 'put', failed: false },
  ];
  for (const event of events) observe(event);
  const named = { session: 's-1', query: 'c.2', run: 2, iteration: 3 };
  expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    { level: 'debug', message: 'model call claude-a failed (529), after 1.20 s', ...named, step: 7, attempt: 2 },
    { level: 'debug', message: 'tool call bash: ok, after 0.01 s', ...named, step: 7, call: 'toolu_1' },
    { level: 'info', message: 'the wait for a person about bash (2.3.0) ended: allow, after 1.50 s', ...named },
    { level: 'warn', message: 'run 2 ended: model_error, 1 turns, after 1.50 s', ...named },
  ]);
});
