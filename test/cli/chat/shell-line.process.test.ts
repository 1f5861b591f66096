// The person's own command in a chat, with a real shell.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runShellLine } from '../../../cli/chat/shell-line.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { until } from '../../support/until.ts';

const env = { PATH: process.env['PATH'] };

test('a command runs in the workspace and tells what it gave and how it ended (O20)', async () => {
  const cwd = tempDir();
  const shown: string[] = [];
  const place = { cwd, env, signal: new AbortController().signal, show: (text: string) => void shown.push(text) };
  const ran = await runShellLine('pwd; echo wrong >&2; read line || exit 4', place);
  expect(ran).toMatchObject({ command: 'pwd; echo wrong >&2; read line || exit 4', status: 4 });
  expect(ran.output).toContain(cwd);
  expect(ran.output).toContain('wrong');
  expect(shown.join('')).toBe(ran.output);
});

test('an interrupt ends the command and what it started (O20)', async () => {
  const cwd = tempDir();
  const stop = new AbortController();
  const place = { cwd, env, signal: stop.signal, show: () => undefined };
  const running = runShellLine('sleep 1000 & touch begun; wait; touch over', place);
  await until(() => existsSync(join(cwd, 'begun')));
  stop.abort();
  // The output closes once nothing that was started holds it open.
  expect((await running).status).toBeNull();
  expect(existsSync(join(cwd, 'over'))).toBe(false);
});
