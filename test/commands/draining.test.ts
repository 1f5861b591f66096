// A worker that was told to stop and still finishes what it runs: what others can do meanwhile.
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { gate, reply, toolUse } from '../../scripted-model/index.ts';
import { openDataFolder } from '../../connection/data-folder.ts';
import { livingMembers } from '../../worker/embedded/members.ts';
import { findRunningServer } from '../../worker/embedded/server-record.ts';
import { cliPlace, jsonLines, modelFor } from '../support/cli.ts';
import { until } from '../support/until.ts';

const membersOf = (place: { readonly data: string }) => () =>
  livingMembers(openDataFolder({ PERDURE_DATA: place.data }));

test('beside a worker that drains, a run goes on, a decision is taken, and a cancel ends what it runs (L49 L50)', async () => {
  const command = 'touch begun; until [ -e go ]; do sleep 0.05; done';
  const calls = [toolUse('bash', { command })];
  const asks = [toolUse('bash', { command: 'rm -r build' })];
  const place = cliPlace(await modelFor([reply(calls), reply(asks), reply('Hi.')]));
  const config = join(place.root, 'slow.mjs');
  writeFileSync(config, 'export default { drainMs: 600_000 };\n');
  const worker = place.start(['worker', '--config', config]);
  await until(() => worker.out().includes('worker ready'));
  const session = (await place.run('start', '--permission-mode', 'bypass', 'Wait.')).out.trim();
  await until(() => existsSync(join(place.cwd, 'begun')));
  const asking = (await place.run('start', 'Clean up.')).out.trim();
  await until(async () => (await place.run('approvals')).out !== '');
  worker.signal('SIGTERM');
  const members = membersOf(place);
  await until(() => members().every((member) => !member.worker));
  const other = await place.run('run', '--json', 'Say hi.');
  expect(jsonLines(other.out).at(-1)).toMatchObject({ reason: 'completed', text: 'Hi.' });
  const [waiting] = jsonLines((await place.run('approvals', '--json')).out);
  const denied = await place.run('deny', asking, String(waiting?.call), '--reason', 'not now');
  expect(denied).toMatchObject({ status: 0, err: expect.stringContaining('denied') });
  const cancelled = await place.run('cancel', session);
  expect(cancelled).toMatchObject({ status: 0, err: expect.stringContaining(`session ${session} is cancelled`) });
  expect(await worker.status).toBe(0);
});

test('a cancel that is asked for just before its worker drains is taken by one that is brought up (L47 L49)', async () => {
  const stubborn = `trap 'touch told' TERM; touch begun; while :; do sleep 0.1; done`;
  const other = 'touch other; until [ -e go ]; do sleep 0.05; done';
  const calls = [stubborn, other].map((command, n) => ({
    ...reply([toolUse('bash', { command })]),
    when: { lastUserText: `${n}` },
  }));
  const place = cliPlace(await modelFor({ replies: calls }));
  const config = join(place.root, 'slow.mjs');
  writeFileSync(config, 'export default { drainMs: 600_000 };\n');
  const worker = place.start(['worker', '--config', config]);
  await until(() => worker.out().includes('worker ready'));
  const session = (await place.run('start', '--permission-mode', 'bypass', '0')).out.trim();
  await place.run('start', '--permission-mode', 'bypass', '1');
  const made = (file: string) => () => existsSync(join(place.cwd, file));
  await until(() => made('begun')() && made('other')());
  const cancel = place.start(['cancel', session]);
  await until(made('told'));
  worker.signal('SIGTERM');
  expect(await cancel.status).toBe(0);
  expect(cancel.err()).toContain(`session ${session} is cancelled`);
  writeFileSync(join(place.cwd, 'go'), '');
  expect(await worker.status).toBe(0);
});

test('a run that takes over counts as one that works, and finishes what it runs for others when it is over (L49 L50)', async () => {
  const waits = (begun: string, go: string) =>
    reply([toolUse('bash', { command: `touch ${begun}; until [ -e ${go} ]; do sleep 0.05; done` })]);
  const script = [waits('begun', 'go'), waits('other', 'on'), reply('Done.'), reply('Done, too.')];
  const place = cliPlace(await modelFor(script));
  const made = (file: string) => () => existsSync(join(place.cwd, file));
  const worker = place.start(['worker']);
  await until(() => worker.out().includes('worker ready'));
  const run = place.start(['run', '--json', '--permission-mode', 'bypass', 'One.']);
  await until(made('begun'));
  const members = membersOf(place);
  worker.signal('SIGTERM');
  await until(() => members().some(({ role, worker: works }) => role === 'command' && works));
  const started = await place.run('start', '--permission-mode', 'bypass', 'Two.');
  expect(started.err).not.toContain('no worker runs');
  await until(made('other'));
  writeFileSync(join(place.cwd, 'go'), '');
  await until(() => run.out().includes('"type":"result"'));
  await until(() => members().every((member) => !member.worker));
  await until(() => run.err().includes('ends when its worker has finished what it runs'));
  writeFileSync(join(place.cwd, 'on'), '');
  expect(await run.status).toBe(0);
  expect(jsonLines(run.out()).at(-1)).toMatchObject({ reason: 'completed' });
  const watched = await place.run('watch', '--json', started.out.trim());
  expect(jsonLines(watched.out).at(-1)).toMatchObject({ reason: 'completed' });
});

test('a run that is told to go where the server does not answer goes, with the status of the signal (L50)', async () => {
  const held = gate();
  const model = await modelFor([reply('Hi.', { hold: held.hold })]);
  const place = cliPlace(model);
  const run = place.start(['run', 'Say hi.']);
  await until(() => model.requests.length === 1);
  const server = findRunningServer(openDataFolder({ PERDURE_DATA: place.data }));
  if (!server) throw new Error('no server');
  process.kill(server.pid, 'SIGSTOP');
  onTestFinished(() => {
    try {
      process.kill(server.pid, 'SIGCONT');
    } catch {
      // The last to leave has ended it.
    }
  });
  run.signal('SIGTERM');
  expect(await run.status).toBe(143);
  expect(run.err()).toContain('follow it with');
  expect(run.err()).not.toMatch(/unexpected|may not have arrived/);
});
