// Sessions of hosts that share a store stay on the host that has their folder: two workers, on
// hosts of their own, poll one queue.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { gate, reply, toolUse, type ParsedRequest } from '../../scripted-model/index.ts';
import { hostQueue } from '../../workflows/contract/session.ts';
import { follower } from '../support/follower.ts';
import { clientOf, harness, type Harness } from '../support/harness.ts';
import { keepHistory } from '../support/kept-history.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';

const here = { id: 'here', name: 'host-one' };
const elsewhere = { id: 'elsewhere', name: 'host-two' };
const call = reply([toolUse('bash', { command: 'echo x >> calls.log' })]);

const isAbout = ({ messages }: ParsedRequest, words: string): boolean =>
  JSON.stringify(messages.at(-1)).includes(words);

/** The queues that activities of the session went to, by their type. */
async function queuesOf(h: Harness, id: string): Promise<ReadonlySet<string>> {
  const { events } = await h.client.workflow.getHandle(id).fetchHistory();
  const scheduled = (events ?? []).map(({ activityTaskScheduledEventAttributes: one }) => one);
  return new Set(scheduled.flatMap((one) => (one ? [`${one.activityType?.name} ${one.taskQueue?.name}`] : [])));
}

test('steps that need the folder go to the queue of its host, what ends or records to any worker (W7)', async () => {
  const h = await harness({ script: [call, reply('One.'), call, reply('Two.')], worker: { host: here } });
  const session = await h.open('Go.');
  await session.ended(1);
  await session.send('Go on.');
  await session.ended(2);
  const own = hostQueue(h.taskQueue, here);
  expect(await queuesOf(h, session.id)).toEqual(
    new Set([
      `perdure.openRun ${h.taskQueue}`,
      `perdure.openRun ${own}`,
      `perdure.callModel ${own}`,
      `perdure.commit ${h.taskQueue}-records`,
    ]),
  );
  expect(await session.memo()).toMatchObject({ host: here });
  await keepHistory('a session that stays on its host (W7)', session.handle);
});

test('a session waits for its host, which no other takes the place of, can be stopped, and goes on there (W7)', async () => {
  const h = await harness({ script: [reply('One.'), reply('Three.')], worker: { host: here } });
  const session = await h.open('Go.');
  await session.ended(1);
  await h.worker.stop();
  const other = await h.startWorker({ host: elsewhere });
  const waits = `perdure.openRun ${hostQueue(h.taskQueue, here)}`;
  await session.send('Go on.');
  await until(async () => (await queuesOf(h, session.id)).has(waits));
  await session.interrupt();
  expect(await session.ended(2)).toMatchObject({ terminal: { reason: 'aborted_streaming', by: 'interrupt' } });
  await session.send('Once more.');
  const back = await h.startWorker({ host: here });
  expect(await session.ended(3)).toMatchObject({ terminal: { reason: 'completed' } });
  expect(h.bodies()).toHaveLength(2);
  await Promise.all([other.stop(), back.stop()]);
});

test('a handover carries the host, and watchers see what is said there (W7 L4)', async () => {
  const h = await harness({
    script: [call, call, reply('Done.')],
    worker: { host: here },
    handover: { events: 100_000, signals: 5_000, iterations: 1 },
  });
  const session = await h.open('Go.');
  const watching = follower(h, session.id);
  await session.ended(1);
  await watching.converges();
  const own = hostQueue(h.taskQueue, here);
  expect(await queuesOf(h, session.id)).toContain(`perdure.callModel ${own}`);
  expect(await session.memo()).toMatchObject({ host: here });
});

test('a folder that is gone from its host is told so, and a new one is opened by whoever has it (W7)', async () => {
  const h = await harness({ script: [reply('One.'), reply('Three.')], worker: { host: here } });
  const folder = `${h.cwd}/below`;
  const session = await h.open('Go.', { cwd: h.cwd });
  await session.ended(1);
  rmSync(h.cwd, { recursive: true });
  await session.send('Go on.');
  expect(await session.ended(2)).toMatchObject({
    terminal: { reason: 'model_error', detail: expect.stringContaining('is gone from host host-one') as string },
  });
  await session.send('There.', { options: { cwd: folder } });
  await until(async () => /host host-one has no folder .* is waited for/.test((await session.lastFailure()) ?? ''));
  mkdirSync(folder, { recursive: true });
  expect(await session.ended(3)).toMatchObject({ terminal: { reason: 'completed' } });
});

test('files are captured on the disk of the host alone, whichever worker stores the end of a run (T1 W7)', async () => {
  const config = { snapshots: true };
  const writes = Array.from({ length: 6 }, (_, at) =>
    reply([toolUse('write', { path: `file-${at}`, content: 'a\n' })]),
  );
  const h = await harness({ script: [...writes, reply('Done.')], worker: { host: here, config } });
  const other = await h.startWorker({ host: elsewhere, config, dataDir: join(h.cwd, '..', 'other-data') });
  const session = await h.open('Go.', { maxTurns: 1 });
  for (let run = 1; run < 7; run += 1) {
    await session.ended(run);
    await session.send('Go on.', { options: { maxTurns: 1 } });
  }
  await session.ended(7);
  const files = (await session.entries()).flatMap((entry) => (entry.kind === 'files' ? [entry] : []));
  expect(new Set(files.map(({ host }) => host))).toEqual(new Set(['here']));
  expect(files.flatMap(({ roots }) => roots[0]?.names)).toEqual(writes.map((_, at) => `file-${at}`));
  await other.stop();
});

test('a host that a session has left captures nothing when it stores the end of a run (T1 T19)', async () => {
  const config = { snapshots: true, hosts: { graceMs: 60_000 } };
  const writes = Array.from({ length: 7 }, (_, at) =>
    reply([toolUse('write', { path: `file-${at}`, content: 'a\n' })]),
  );
  const h = await harness({ script: [...writes, reply('Done.')], worker: { host: here, config } });
  const session = await h.open('Go.', { maxTurns: 1 });
  await session.ended(1);
  const capturedBy = async () =>
    (await session.entries()).flatMap((entry) => (entry.kind === 'files' ? [entry.host] : []));
  const before = await capturedBy();
  const other = await h.startWorker({ host: elsewhere, config, dataDir: join(h.cwd, '..', 'other-data') });
  // Both hosts have one file system here.
  rmSync(h.cwd, { recursive: true });
  await session.handle.executeUpdate('move', { args: [{ to: elsewhere }] });
  for (let run = 2; run < 8; run += 1) {
    await session.send('Go on.', { options: { maxTurns: 1 } });
    await session.ended(run);
  }
  expect(new Set(before)).toEqual(new Set(['here']));
  expect(new Set((await capturedBy()).slice(before.length))).toEqual(new Set(['elsewhere']));
  await other.stop();
});

test('a worker without a shared store polls no queue of a host, and its sessions have none (W7)', async () => {
  const h = await harness({ script: [reply('One.')] });
  const session = await h.open('Go.');
  await session.ended(1);
  expect(await session.memo()).not.toHaveProperty('host');
  expect([...(await queuesOf(h, session.id))].filter((name) => name.endsWith('.host'))).toEqual([]);
});

test('a session whose host is away moves with its last snapshot, is told so, and stays with the new host (T18)', async () => {
  const config = { snapshots: true, hosts: { graceMs: 500 }, drainMs: 100 };
  const held = gate();
  const writes = ['a', 'b'].map((path) => reply([toolUse('write', { path, content: `${path}\n` })]));
  const h = await harness({
    script: [...writes, reply('Never heard.', { hold: held.hold }), reply('One.'), reply('Two.')],
    worker: { host: here, config },
  });
  const session = await h.open('Go.');
  await until(() => h.bodies().length === 3);
  const other = await h.startWorker({ host: elsewhere, config, dataDir: join(h.cwd, '..', 'other-data') });
  await h.worker.stop();
  held.release();
  rmSync(h.cwd, { recursive: true });
  await session.ended(1);
  await session.send('Go on.');
  await session.ended(2);
  expect(readFileSync(join(h.cwd, 'a'), 'utf8')).toBe('a\n');
  expect(existsSync(join(h.cwd, 'b'))).toBe(false);
  const moves = (await session.entries()).flatMap((entry) =>
    entry.kind === 'notice' && entry.notice.kind === 'host_changed' ? [entry.notice] : [],
  );
  expect(moves).toMatchObject([{ from: 'host-one', to: 'host-two', because: 'away', calls: ['write'] }]);
  expect(await session.memo()).toMatchObject({ host: elsewhere });
  expect(await queuesOf(h, session.id)).toContain(`perdure.callModel ${hostQueue(h.taskQueue, elsewhere)}`);
  await keepHistory('a session whose host is away moves to another (T18)', session.handle);
  await other.stop();
});

test('a session that is to stay waits for its host, and so does one without a snapshot (T18)', async () => {
  const hosts = { graceMs: 500 };
  const h = await harness({
    script: [reply('One.'), reply('Two.'), reply('Three.')],
    worker: { host: here, config: { hosts, snapshots: true } },
  });
  const staying = await h.open('Go.', { stay: true });
  await staying.ended(1);
  const uncaptured = await h.open('Go.', { snapshots: false });
  await uncaptured.ended(1);
  await h.worker.stop();
  const other = await h.startWorker({ host: elsewhere, config: { hosts }, dataDir: join(h.cwd, '..', 'other-data') });
  for (const session of [staying, uncaptured]) await session.send('Go on.');
  const triedOn = async (id: string) =>
    [...(await queuesOf(h, id))].some((name) => name.startsWith('perdure.takeOver'));
  await until(() => triedOn(uncaptured.id));
  expect(await triedOn(staying.id)).toBe(false);
  expect(await staying.memo()).toMatchObject({ host: here });
  for (const session of [staying, uncaptured]) {
    await session.interrupt();
    expect(await session.ended(2)).toMatchObject({ terminal: { by: 'interrupt' } });
  }
  await other.stop();
});

test('a host that comes back with an empty disk restores the folder, and does not take it for removed (T18)', async () => {
  const config = { snapshots: true, hosts: { graceMs: 500 } };
  const h = await harness({
    script: [reply([toolUse('write', { path: 'a', content: 'a\n' })]), reply('One.'), reply('Two.')],
    worker: { host: here, config },
  });
  const session = await h.open('Go.');
  await session.ended(1);
  await h.worker.stop();
  for (const folder of [h.cwd, join(h.cwd, '..', 'data')]) rmSync(folder, { recursive: true });
  const back = await h.startWorker({ host: here, config });
  await session.send('Go on.');
  expect(await session.ended(2)).toMatchObject({ terminal: { reason: 'completed' } });
  expect(readFileSync(join(h.cwd, 'a'), 'utf8')).toBe('a\n');
  expect(JSON.stringify(h.bodies().at(-1))).toContain('has lost your files');
  await back.stop();
});

test('a folder is restored neither over another one nor in the data folder of the host that takes over (T18)', async () => {
  const config = { snapshots: true, hosts: { graceMs: 500 } };
  const h = await harness({ script: [reply('One.'), reply('Two.')], worker: { host: here, config } });
  const session = await h.open('Go.');
  await session.ended(1);
  await h.worker.stop();
  const others = [
    await h.startWorker({ host: elsewhere, config, dataDir: join(h.cwd, '..', 'other-data') }),
    await h.startWorker({ host: { id: 'third', name: 'host-three' }, config, dataDir: join(h.cwd, '..') }),
  ];
  writeFileSync(join(h.cwd, 'of-another'), 'kept\n');
  await session.send('Go on.');
  const refusals = [/another folder on host host-two, and not empty/, /host host-three .* lies in .*data folder/];
  for (const why of refusals) await until(async () => why.test((await session.lastFailure()) ?? ''));
  expect(readdirSync(h.cwd)).toEqual(['of-another']);
  const back = await h.startWorker({ host: here, config });
  expect(await session.ended(2)).toMatchObject({ terminal: { reason: 'completed' } });
  await Promise.all([...others, back].map((worker) => worker.stop()));
});

test('a session is moved at will: at rest at once, in a run before the next model call (T20)', async () => {
  const config = { snapshots: true, hosts: { graceMs: 60_000 } };
  const held = gate();
  const h = await harness({
    script: [
      reply([toolUse('write', { path: 'a', content: 'a\n' })]),
      reply('One.'),
      reply([toolUse('write', { path: 'b', content: 'b\n' })], { hold: held.hold }),
      reply('Two.'),
    ],
    worker: { host: here, config },
  });
  const session = await h.open('Go.');
  await session.ended(1);
  const other = await h.startWorker({ host: elsewhere, config, dataDir: join(h.cwd, '..', 'other-data') });
  // Both hosts have one file system here.
  rmSync(h.cwd, { recursive: true });
  expect(await session.handle.executeUpdate('move', { args: [{}] })).toEqual({
    kind: 'moved',
    host: { ...elsewhere, graceMs: 60_000 },
  });
  await session.send('Go on.');
  await until(() => h.bodies().length === 3);
  expect(await session.handle.executeUpdate('move', { args: [{ to: here }] })).toEqual({ kind: 'later' });
  held.release();
  await session.ended(2);
  expect(await session.memo()).toMatchObject({ host: here });
  expect(readFileSync(join(h.cwd, 'b'), 'utf8')).toBe('b\n');
  const moves = (await session.entries()).flatMap((entry) =>
    entry.kind === 'notice' && entry.notice.kind === 'host_changed' ? [entry.notice] : [],
  );
  expect(moves).toMatchObject([
    { from: 'host-one', to: 'host-two', because: 'moved', calls: [] },
    { from: 'host-two', to: 'host-one', because: 'moved', calls: [] },
  ]);
  await expect(session.handle.executeUpdate('move', { args: [{ to: here }] })).rejects.toThrow(/refused|Failed/i);
  await keepHistory('a session that is moved at will (T20)', session.handle);
  await other.stop();
});

test('a host that has lost its disk twice restores twice, and one that dies then is left for another (T18)', async () => {
  const config = { snapshots: true, hosts: { graceMs: 500 } };
  const h = await harness({
    script: [
      reply([toolUse('write', { path: 'a', content: 'a\n' })]),
      ...['One.', 'Two.', 'Three.', 'Four.'].map((text) => reply(text)),
    ],
    worker: { host: here, config },
  });
  const session = await h.open('Go.');
  await session.ended(1);
  let { worker } = h;
  for (const run of [2, 3]) {
    await worker.stop();
    for (const folder of [h.cwd, join(h.cwd, '..', 'data')]) rmSync(folder, { recursive: true });
    worker = await h.startWorker({ host: here, config });
    await session.send('Go on.');
    expect(await session.ended(run)).toMatchObject({ terminal: { reason: 'completed' } });
    expect(readFileSync(join(h.cwd, 'a'), 'utf8')).toBe('a\n');
  }
  await worker.stop();
  rmSync(h.cwd, { recursive: true });
  const other = await h.startWorker({ host: elsewhere, config, dataDir: join(h.cwd, '..', 'other-data') });
  await session.send('Go on.');
  await session.ended(4);
  expect(readFileSync(join(h.cwd, 'a'), 'utf8')).toBe('a\n');
  expect(await session.memo()).toMatchObject({ host: elsewhere });
  await other.stop();
});

test('a session whose run ends with the step under way moves then (T20)', async () => {
  const config = { snapshots: true, hosts: { graceMs: 60_000 } };
  const held = gate();
  const h = await harness({
    script: [reply('One.'), reply('Two.', { hold: held.hold })],
    worker: { host: here, config },
  });
  const session = await h.open('Go.');
  await session.ended(1);
  const other = await h.startWorker({ host: elsewhere, config, dataDir: join(h.cwd, '..', 'other-data') });
  await session.send('Go on.');
  await until(() => h.bodies().length === 2);
  expect(await session.handle.executeUpdate('move', { args: [{ to: elsewhere }] })).toEqual({ kind: 'later' });
  rmSync(h.cwd, { recursive: true });
  held.release();
  await session.ended(2);
  await until(async () => ((await session.memo()) as { host?: { id: string } }).host?.id === 'elsewhere');
  await other.stop();
});

test('a worker that is set up to makes the workspace of a new session, and of no other (PERDURE_WORKSPACES)', async () => {
  const folder = tempDir();
  const h = await harness({
    script: [reply([toolUse('write', { path: 'a', content: 'a\n' })]), reply('One.')],
    worker: { host: here },
    env: { PERDURE_WORKSPACES: folder },
  });
  const session = await h.open('Go.', (id) => ({ cwd: join(folder, id) }));
  const cwd = join(folder, session.id);
  await session.ended(1);
  expect(readFileSync(join(cwd, 'a'), 'utf8')).toBe('a\n');
  rmSync(cwd, { recursive: true });
  await session.send('Go on.');
  expect(await session.ended(2)).toMatchObject({
    terminal: { detail: expect.stringContaining('is gone from host host-one') as string },
  });
  expect(existsSync(cwd)).toBe(false);
  // Another host may have a folder that is named otherwise.
  for (const other of [join(cwd, 'below'), join(folder, 'shared')]) {
    const below = await h.open('Go.', { cwd: other });
    await until(async () => /host host-one has no folder/.test((await below.lastFailure()) ?? ''));
    expect(existsSync(other)).toBe(false);
  }
});

test('a question aside does not wait for the host of its session, which is away (T20 L58)', async () => {
  const h = await harness({
    script: (request) => (isAbout(request, 'Where are you?') ? reply('Elsewhere.') : reply('One.')),
    worker: { host: here, config: { snapshots: true, hosts: { graceMs: 600_000 }, memory: false } },
  });
  const session = await h.open('Go.');
  await session.ended(1);
  await h.worker.stop();
  const other = await h.startWorker({ host: elsewhere, dataDir: join(h.cwd, '..', 'other-data') });
  const aside = await clientOf(h, h.taskQueue).askAside(session.id, 'Where are you?');
  expect(aside).toMatchObject({ answer: 'Elsewhere.' });
  expect(await session.memo()).toMatchObject({ host: here });
  await other.stop();
});
