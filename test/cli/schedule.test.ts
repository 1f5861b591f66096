// perdure schedule: what is refused before any server is asked.
import { expect, test } from 'vitest';
import { mainHere } from '../support/cli-here.ts';
import { tempDir } from '../support/temp-dir.ts';

test.each<[string, readonly string[], string]>([
  [
    'a cron fault',
    ['create', '61 6 * * 1', 'Look.'],
    'the cron expression "61 6 * * 1": "61" is no minute: give 0 to 59',
  ],
  [
    'an unknown time zone',
    ['create', '@daily', 'Look.', '--time-zone', 'Mars'],
    '"Mars" is no time zone: give a name such as',
  ],
  [
    'a catch-up that is no time',
    ['create', '@daily', 'Look.', '--catch-up', 'soon'],
    '--catch-up "soon" is not a time: write 1500ms, 90s, 30m or 2h',
  ],
  ['an unknown policy', ['create', '@daily', 'Look.', '--overlap', 'often'], 'Allowed choices are skip, buffer-one'],
  [
    'a limit that is none',
    ['create', '@daily', 'Look.', '--max-turns', '0'],
    'max turns is 0: give a whole number from 1',
  ],
  ['no task', ['create', '@daily'], 'the task is missing: give a text in quotes'],
  ['no cron expression', ['create'], "missing required argument 'cron'"],
  ['nothing to change', ['update', 'deps'], 'nothing is given to change: `--help` lists what can be'],
  ['another cron fault', ['update', 'deps', '--cron', 'often'], 'the cron expression "often" has 1 fields'],
  ['a session to change to', ['update', 'deps', '--session', 's-1'], "unknown option '--session'"],
  ['no name', ['pause'], "missing required argument 'name'"],
  ['an unknown command', ['stop', 'deps'], "unknown command 'stop'"],
  ['no command', [], 'name a command'],
])('%s is refused in a line (L87)', async (_, args, sentence) => {
  const cwd = tempDir();
  const env = { PATH: process.env['PATH'], HOME: cwd, PERDURE_DATA: cwd };
  const { status, out, err } = await mainHere(['schedule', ...args], { cwd: () => cwd, env });
  expect([status, out]).toEqual([2, '']);
  expect(err).toContain(sentence);
  expect(err.trimEnd()).not.toContain('\n');
});

test.each([
  ['', 'the variable TZ is empty: give --time-zone with a name such as Europe/Berlin or UTC'],
  ['Mars/Olympus', 'the variable TZ is "Mars/Olympus", which names no time zone: give --time-zone with a name such as'],
  ['CET-1CEST,M3.5.0', 'which names no time zone'],
  [':/nowhere/localtime', 'which names no time zone'],
])('TZ=%s in the environment is told, and no zone is guessed (L87)', async (zone, sentence) => {
  const cwd = tempDir();
  const env = { PATH: process.env['PATH'], HOME: cwd, PERDURE_DATA: cwd, TZ: zone };
  const { status, out, err } = await mainHere(['schedule', 'create', '@daily', 'Look.'], { cwd: () => cwd, env });
  expect([status, out]).toEqual([2, '']);
  expect(err).toContain(sentence);
  expect(err.trimEnd()).not.toContain('\n');
});
