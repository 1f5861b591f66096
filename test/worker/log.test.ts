// The worker's log: JSON lines for programs, text for a person at a terminal, secrets and what acts on a terminal in neither.
import { expect, test } from 'vitest';
import { logText } from '../../activities/log.ts';
import { workerLog } from '../../worker/log.ts';

const KEY = 'sk-canary-0123456789';

function written(isTTY: boolean, env: Record<string, string> = {}) {
  const lines: string[] = [];
  return { lines, log: workerLog({ isTTY, write: (line: string) => lines.push(line) }, env) };
}

test('writes a JSON line with level, time and process, and what is known of the run', () => {
  const { lines, log } = written(false);
  const about = { session: 's-1', query: 's-1.2', depth: 0, run: 2, iteration: 3, attempt: 1 };
  log('warn', 'a hook failed', about);
  log('info', 'ready');
  expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
    {
      level: 'warn',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      pid: process.pid,
      ...about,
      message: 'a hook failed',
    },
    { level: 'info', time: expect.any(String), pid: process.pid, message: 'ready' },
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
    const { lines, log } = written(tty, { ANTHROPIC_API_KEY: KEY });
    log('warn', `told ${KEY} \u001b[2J\u009b1m\u202e`, { session: `s-${KEY}`, stack: `at ${KEY}` });
    expect(lines.join('')).not.toContain(KEY);
    expect(lines.join('')).toContain('told [redacted]');
    expect(lines.join('').replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    if (!tty) expect((JSON.parse(lines[0] ?? '') as { message: string }).message).toContain('\u001b[2J\u009b1m\u202e');
  },
);

test('says of a line without fields the message alone', () => {
  expect(logText('ready')).toBe('ready');
});
