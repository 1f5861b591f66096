// Programs that go on with the newest session of their folder (`continue`): in this process, and
// killed as one of their own.
import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { query } from '../../client/agent-sdk/query.ts';
import { gate, reply } from '../../scripted-model/index.ts';
import { cliPlace, modelFor } from '../support/cli.ts';
import { killWhen } from '../support/kill-when.ts';
import { oneRuntime } from '../support/one-runtime.ts';

// With variables of its own it has sessions of its own: no worker of another program takes them up.
const PROGRAM = `
  const { query } = await import(${JSON.stringify(join(import.meta.dirname, '../../dist/client/agent-sdk/index.js'))});
  for await (const { type, session_id, result } of query({ prompt: 'Go on.', options: { continue: true, env: { ...process.env } } }))
    if (type === 'result') console.log(JSON.stringify({ session: session_id, result }));`;

test('continue goes on with the newest session of the folder, a killed program with the one that it had found (Q7 Q9)', async () => {
  oneRuntime();
  const held = gate();
  onTestFinished(held.release);
  const model = await modelFor([
    reply('One.'),
    reply('Elsewhere.'),
    { ...reply('Cut off.'), hold: held.hold, holdAfterEvent: 2 },
    reply('Newer.'),
    reply('Newest.'),
    reply('On.'),
  ]);
  const { cwd, env } = cliPlace(model);
  const other = join(cwd, 'other');
  mkdirSync(other);
  const said: string[] = [];
  const ask = async (prompt: string, options: { readonly cwd: string; readonly continue: boolean }) => {
    let last: unknown;
    for await (const message of query({ prompt, options: { ...options, env, stderr: (line) => said.push(line) } }))
      last = message;
    return last as { readonly session_id: string; readonly result: string };
  };
  const first = await ask('one', { cwd, continue: false });
  const elsewhere = await ask('two', { cwd: other, continue: true });
  expect(said).toContain(`there is no session of ${other} to continue: a new one begins`);

  const named = { ...env, PERDURE_SESSION: 'night' };
  const start = () =>
    spawn(process.execPath, ['--input-type=module', '-e', PROGRAM], { cwd, env: named, stdio: 'pipe' });
  const cut = start();
  onTestFinished(() => void cut.kill('SIGKILL'));
  await killWhen(cut, () => model.requests.length === 3);
  const newer = await ask('three', { cwd, continue: false });
  // The list of the server may not have it yet: this process knows it.
  expect(await ask('four', { cwd, continue: true })).toMatchObject({ session_id: newer.session_id, result: 'Newest.' });
  const again = start();
  onTestFinished(() => void again.kill('SIGKILL'));
  expect(JSON.parse(await textOf(again.stdout))).toEqual({ session: first.session_id, result: 'On.' });
  expect(new Set([first, elsewhere, newer].map(({ session_id: session }) => session)).size).toBe(3);
  expect(model.problems).toEqual([]);
});
