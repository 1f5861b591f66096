// Hosts that come and go under a session (T18 T19 T20): its files, its conversation and its calls
// follow it from one to another, and nothing is done twice.
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { gate, reply, toolUse, type ScriptedModel } from '../../scripted-model/index.ts';
import { jsonLines, modelFor, readyWorker } from '../support/cli.ts';
import { hostCluster, readFile, wipe, writes } from '../support/host-cluster.ts';
import { until } from '../support/until.ts';

/** What a request tells the model, as text. */
const said = (model: ScriptedModel, at: number): string => JSON.stringify(model.requests[at]);

test('a session whose host died with its disk goes on elsewhere from its last snapshot, and is told what was lost (T18)', async () => {
  const held = gate();
  const model = await modelFor([
    writes('a'),
    writes('b'),
    reply('This attempt dies.', { hold: held.hold, holdAfterEvent: 4 }),
    reply('All done.'),
  ]);
  const host = await hostCluster(model);
  const [one, two] = [host('host-one'), host('host-two')];
  const first = await readyWorker(one);
  const id = (await one.run('start', '--permission-mode', 'bypass', 'make it')).out.trim();
  await until(() => model.requests.length === 3);
  first.signal('SIGKILL');
  await first.status;
  wipe(one);
  held.release();
  const second = await readyWorker(two);
  const watched = await two.run('watch', '--json', id);
  expect(jsonLines(watched.out).at(-1)).toMatchObject({ type: 'result', reason: 'completed', text: 'All done.' });
  expect(readFile(one, 'a')).toBe('a\n');
  expect(existsSync(join(one.cwd, 'b'))).toBe(false);
  expect(said(model, 3)).toMatch(/could not be reached any more.*you have read their results: bash\./);
  expect((await two.run('show', id)).out).toContain('continues on host host-two');
  // It is that host's from now on.
  expect(jsonLines((await two.run('list', '--json')).out)[0]).toMatchObject({ host: { id: 'host-two' } });
  second.signal('SIGTERM');
  expect(await second.status).toBe(0);
});

test('a session at rest, and one between two calls, move with what the last call has changed (T20)', async () => {
  const held = gate();
  const model = await modelFor([
    writes('a'),
    reply('First.'),
    writes('b'),
    reply([toolUse('bash', { command: 'cat a b > c' })], { hold: held.hold, holdAfterEvent: 1 }),
    reply('Second.'),
  ]);
  const host = await hostCluster(model);
  const [one, two] = [host('host-one'), host('host-two')];
  const workers = [await readyWorker(one), await readyWorker(two)];
  const ran = await one.run('run', '--json', '--permission-mode', 'bypass', 'make it');
  const id = String(jsonLines(ran.out).at(-1)?.sessionId);
  const { host: from } = jsonLines((await one.run('list', '--json')).out)[0] as { host: { id: string } };
  const to = from.id === 'host-one' ? 'host-two' : 'host-one';
  // Both hosts have one file system here, and the folder of the other has to be its own.
  const folder = readFileSync(join(one.cwd, 'a'), 'utf8');
  rmSync(one.cwd, { recursive: true });
  // A worker is named once its first heartbeat has come.
  const named = /No worker of this session runs on host host-three; workers run on host-one, host-two/;
  await until(async () => named.test((await two.run('move', id, '--host', 'host-three')).err));
  expect(folder).toBe('a\n');
  expect(await two.run('move', id, '--host', to)).toMatchObject({
    status: 0,
    err: expect.stringContaining(`is on host ${to} now`) as string,
  });
  expect(readFile(one, 'a')).toBe('a\n');
  expect((await two.run('send', id, 'more')).status).toBe(0);
  await until(() => model.requests.length === 4);
  expect(said(model, 2)).toMatch(/because the one before was left on purpose/);
  const later = await two.run('move', id);
  expect(later).toMatchObject({ status: 0, err: expect.stringContaining('before its next model call') as string });
  held.release();
  const shown = await until(async () => {
    const { out } = await two.run('show', id);
    return out.includes('Second.') ? out : null;
  });
  expect(shown).toContain(`moved to another host by`);
  for (const running of workers) running.signal('SIGTERM');
  await Promise.all(workers.map(({ status }) => status));
});

test('a host that dies in a call of a stored reply loses nothing captured with it; the model is told the rest (T18)', async () => {
  const model = await modelFor([
    writes('a'),
    writes('b'),
    reply([toolUse('bash', { command: 'echo c >> c; sleep 600' })]),
    reply('All done.'),
  ]);
  const host = await hostCluster(model);
  const [one, two] = [host('host-one'), host('host-two')];
  const first = await readyWorker(one);
  const id = (await one.run('start', '--permission-mode', 'bypass', 'make it')).out.trim();
  await until(() => existsSync(join(one.cwd, 'c')));
  first.signal('SIGKILL');
  await first.status;
  wipe(one);
  const second = await readyWorker(two);
  const watched = await two.run('watch', '--json', id);
  expect(jsonLines(watched.out).at(-1)).toMatchObject({ type: 'result', reason: 'completed', text: 'All done.' });
  expect([readFile(one, 'a'), readFile(one, 'b')]).toEqual(['a\n', 'b\n']);
  expect(existsSync(join(one.cwd, 'c'))).toBe(false);
  expect(said(model, 3)).toMatch(/outcome unknown.*you have read their results: bash\./);
  second.signal('SIGTERM');
  expect(await second.status).toBe(0);
});

test('a run that is opened while the host of its session is away opens on another one (T18)', async () => {
  const model = await modelFor([writes('a'), reply('First.'), reply('Second.')]);
  const host = await hostCluster(model);
  const [one, two] = [host('host-one'), host('host-two')];
  const first = await readyWorker(one);
  const begun = await one.run('run', '--permission-mode', 'bypass', '--json', 'make it');
  const id = String(jsonLines(begun.out).at(-1)?.sessionId);
  first.signal('SIGKILL');
  await first.status;
  wipe(one);
  const second = await readyWorker(two);
  expect(await two.run('send', id, 'Go on.')).toMatchObject({ status: 0 });
  await until(async () => (await two.run('show', id)).out.includes('Second.'));
  expect((await two.run('show', id)).out).toContain('continues on host host-two');
  second.signal('SIGTERM');
  expect(await second.status).toBe(0);
});
