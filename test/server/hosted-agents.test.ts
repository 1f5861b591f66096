// Agents of a session that has a host: they begin where it works, end where that goes away before
// anything of them is stored, and keep their session from moving until they have ended.
import { readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createHostRecord, readHostRecords } from '../../activities/hosts/host-record.ts';
import { gate, reply, toolUse } from '../../scripted-model/index.ts';
import { fileStore } from '../../store/values/file-store.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import { hostQueue } from '../../workflows/contract/session.ts';
import { agentsEnded, agentsOf, entriesOf, outcomes } from '../support/agents.ts';
import { agentCall, byPrompt, promptOf } from '../support/by-prompt.ts';
import { harness, type Harness } from '../support/harness.ts';
import { keepHistory } from '../support/kept-history.ts';
import { initRepository } from '../support/repository.ts';
import { until } from '../support/until.ts';

const here = { id: 'here', name: 'host-one' };
const elsewhere = { id: 'elsewhere', name: 'host-two' };
const otherData = (h: Pick<Harness, 'cwd'>): string => join(h.cwd, '..', 'other-data');

/** The queues to which openings of a session's runs went. */
async function openedOn(h: Harness, id: string): Promise<readonly string[]> {
  const { events } = await h.client.workflow.getHandle(id).fetchHistory();
  const scheduled = (events ?? []).flatMap((event) => event.activityTaskScheduledEventAttributes ?? []);
  return scheduled.flatMap(({ activityType, taskQueue }) =>
    activityType?.name === 'perdure.openRun' ? [taskQueue?.name ?? ''] : [],
  );
}

test('an agent begins on the host of its parent, also where another host has a folder of that name (T18 L66)', async () => {
  const calls = [agentCall('A.'), agentCall('B.', { isolation: 'worktree' })];
  const h = await harness({
    script: byPrompt({
      'Go.': [reply(calls), reply('Done.')],
      'A.': [reply('A is done.')],
      'B.': [reply('B is done.')],
    }),
    worker: { host: here },
  });
  initRepository(h.cwd, { 'shared.txt': 'first\n' });
  const other = await h.startWorker({ host: elsewhere, dataDir: otherData(h) });
  const session = await h.open('Go.');
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  const host = (await session.memo())?.host ?? here;
  const agents = await agentsEnded(h, session.id, 2);
  for (const { id, memo } of agents) {
    expect(memo.host).toMatchObject({ id: host.id });
    expect(await openedOn(h, id)).toEqual([hostQueue(h.taskQueue, host)]);
  }
  await keepHistory('an agent that begins on the host of its parent (T18)', h.client.workflow.getHandle(agents[0]!.id));
  await other.stop();
});

test('an agent of which nothing is stored ends with its host; its parent moves, and begins another (T18 L66)', async () => {
  const config = { snapshots: true, hosts: { graceMs: 5_000 } };
  const held = gate();
  const h = await harness({
    script: byPrompt({
      'Go.': [reply([agentCall('A.')], { hold: held.hold }), reply([agentCall('B.')]), reply('Done.')],
      'B.': [reply('B is done.')],
    }),
    worker: { host: here, config },
  });
  const session = await h.open('Go.');
  await until(() => h.bodies().length === 1);
  const other = await h.startWorker({ host: elsewhere, config, dataDir: otherData(h) });
  const stopping = h.worker.stop();
  held.release();
  await stopping;
  renameSync(h.cwd, `${h.cwd}.of-the-host`);
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  const [first, second] = (await outcomes(session)).map(({ content }) => content);
  expect(first).toContain('host host-one is away, and nothing of this agent is stored');
  expect(second).toContain('B is done.');
  const places = (await agentsEnded(h, session.id, 2)).map(({ memo }) => memo.host?.id);
  expect(new Set(places)).toEqual(new Set(['elsewhere', 'here']));
  expect(await session.memo()).toMatchObject({ host: { id: 'elsewhere' } });
  await other.stop();
});

test('a session whose agents work in its folder in the background moves when they have ended (T20 L71)', async () => {
  const config = { snapshots: true, hosts: { graceMs: 60_000 } };
  const held = gate();
  const h = await harness({
    script: byPrompt({
      'Go.': [reply([agentCall('A.', { background: true })]), reply('It is on its way.'), reply('It has ended.')],
      'A.': [reply([toolUse('write', { path: 'a', content: 'a\n' })], { hold: held.hold }), reply('Three.')],
    }),
    worker: { host: here, config },
  });
  const session = await h.open('Go.');
  await session.ended(1);
  const other = await h.startWorker({ host: elsewhere, config, dataDir: otherData(h) });
  const agent = await until(async () => (await agentsOf(h, session.id)).find(({ id }) => id !== session.id) ?? null);
  const moveOf = (id: string) => h.client.workflow.getHandle(id).executeUpdate('move', { args: [{}] });
  await expect(moveOf(agent.id)).rejects.toMatchObject({
    cause: { message: expect.stringContaining('An agent moves with the session that started it') as string },
  });
  expect(await moveOf(session.id)).toEqual({ kind: 'later' });
  expect(await session.memo()).toMatchObject({ host: { id: 'here' } });
  held.release();
  await agentsEnded(h, session.id, 1);
  // Both hosts have one file system here, and the folder of the other has to be its own.
  renameSync(h.cwd, `${h.cwd}.of-the-host`);
  await session.ended(2);
  expect(await session.memo()).toMatchObject({ host: { id: 'elsewhere' } });
  const moves = (await session.entries()).filter(
    (entry) => entry.kind === 'notice' && entry.notice.kind === 'host_changed',
  );
  expect(moves).toHaveLength(1);
  await keepHistory('a session that moves when its agents have ended (T20)', session.handle);
  await other.stop();
});

test('an agent does not follow its session to a host that a message has left for another (T18 L66)', async () => {
  const config = { snapshots: true, hosts: { graceMs: 5_000 }, drainMs: 100 };
  const held = gate();
  const h = await harness({
    script: byPrompt({
      'Go.': [
        reply([toolUse('write', { path: 'a', content: 'a\n' })]),
        reply('One.'),
        reply([agentCall('A.')]),
        reply('Two.'),
      ],
      'A.': [
        reply([toolUse('write', { path: 'b', content: 'b\n' })]),
        reply('This attempt dies.', { hold: held.hold }),
        reply('A is done.'),
      ],
    }),
    worker: { host: here, config },
  });
  const session = await h.open('Go.');
  await session.ended(1);
  const other = await h.startWorker({ host: elsewhere, config, dataDir: otherData(h) });
  const left = `${h.cwd}.of-the-host`;
  renameSync(h.cwd, left);
  await session.handle.executeUpdate('move', { args: [{}] });
  await other.stop();
  // A person works on with what the first host still has.
  renameSync(h.cwd, `${h.cwd}.of-the-other`);
  renameSync(left, h.cwd);
  await session.send('Go on.', { options: { cwd: h.cwd } });
  await until(() => h.bodies().length === 5);
  expect((await session.memo())?.host).toMatchObject(here);
  const third = await h.startWorker({
    host: { id: 'third', name: 'host-three' },
    config,
    dataDir: join(h.cwd, '..', 'third-data'),
  });
  await h.worker.stop();
  held.release();
  renameSync(h.cwd, `${h.cwd}.of-the-dead`);
  expect(await session.ended(2)).toMatchObject({ terminal: { reason: 'completed' } });
  const [agent] = await agentsEnded(h, session.id, 1);
  expect(agent?.memo.host).toMatchObject({ id: 'third' });
  expect(await session.memo()).toMatchObject({ host: { id: 'third' } });
  expect(readFileSync(join(h.cwd, 'a'), 'utf8')).toBe('a\n');
  await third.stop();
});

test('what an agent in the background has changed is captured by its session when its end is read (T1 L71)', async () => {
  const [agentWorks, sessionReads] = [gate(), gate()];
  const reads = [toolUse('glob', { pattern: '*' })];
  const h = await harness({
    script: byPrompt({
      'Go.': [
        reply([agentCall('A.', { background: true })]),
        reply(reads),
        reply(reads, { hold: sessionReads.hold }),
        reply('Done.'),
      ],
      'A.': [reply([toolUse('write', { path: 'a', content: 'a\n' })], { hold: agentWorks.hold }), reply('Three.')],
    }),
    worker: { host: here, config: { snapshots: true } },
  });
  const session = await h.open('Go.');
  await until(() => h.bodies().filter((body) => promptOf(body) === 'Go.').length === 3);
  agentWorks.release();
  await agentsEnded(h, session.id, 1);
  sessionReads.release();
  await session.ended(1);
  const files = (await session.entries()).flatMap((entry) => (entry.kind === 'files' ? entry.roots : []));
  expect(files.flatMap(({ names }) => names)).toContain('a');
});

test('a host that has restored a folder for an agent tells its session of it, too, and only once (T18 L71)', async () => {
  const config = { snapshots: true, hosts: { graceMs: 5_000 }, drainMs: 100 };
  const [agentWorks, sessionWrites] = [gate(), gate()];
  const write = (path: string) => toolUse('write', { path, content: `${path}\n` });
  const h = await harness({
    script: byPrompt({
      'Go.': [
        reply([agentCall('A.', { background: true })]),
        reply([write('r')], { hold: sessionWrites.hold }),
        reply('First.'),
        reply('Second.'),
        reply('Third.'),
      ],
      'A.': [reply([write('a')]), reply('This attempt dies.', { hold: agentWorks.hold }), reply('A is done.')],
    }),
    worker: { host: here, config },
  });
  const session = await h.open('Go.');
  const asked = (prompt: string): number => h.bodies().filter((body) => promptOf(body) === prompt).length;
  await until(() => asked('A.') === 2);
  sessionWrites.release();
  await session.ended(1);
  await h.worker.stop();
  agentWorks.release();
  for (const folder of [h.cwd, join(h.cwd, '..', 'data')]) rmSync(folder, { recursive: true });
  const back = await h.startWorker({ host: here, config });
  await session.ended(2);
  await session.send('Go on.');
  await session.ended(3);
  const moves = (await session.entries()).flatMap((entry) =>
    entry.kind === 'notice' && entry.notice.kind === 'host_changed' ? [entry.notice] : [],
  );
  expect(moves).toMatchObject([{ from: 'host-one', to: 'host-one', because: 'emptied', calls: ['agent', 'write'] }]);
  const [agent] = await agentsEnded(h, session.id, 1);
  const ofAgent = (await entriesOf(h, agent!)).filter(
    (entry) => entry.kind === 'notice' && entry.notice.kind === 'host_changed',
  );
  expect(ofAgent).toHaveLength(1);
  await back.stop();
});

test('an agent and its session follow others of theirs that have left a host which is back, and are told (T18 T19)', async () => {
  const config = { snapshots: true, hosts: { graceMs: 60_000 } };
  const [agentWorks, sessionWorks] = [gate(), gate()];
  const write = (path: string) => toolUse('write', { path, content: `${path}\n` });
  const h = await harness({
    script: byPrompt({
      'Go.': [
        reply([agentCall('A.', { background: true })]),
        reply([write('r')], { hold: sessionWorks.hold }),
        ...done,
      ],
      'A.': [reply([write('a')]), reply([write('b')], { hold: agentWorks.hold }), reply('A is done.')],
    }),
    worker: { host: here, config },
  });
  const session = await h.open('Go.');
  const asked = (prompt: string): number => h.bodies().filter((body) => promptOf(body) === prompt).length;
  await until(() => asked('A.') === 2 && asked('Go.') === 2);
  const other = await h.startWorker({ host: elsewhere, config, dataDir: otherData(h) });
  await leaveBehind(h, session.id);
  agentWorks.release();
  const [agent] = await agentsEnded(h, session.id, 1);
  const movesIn = (entries: Awaited<ReturnType<typeof entriesOf>>) =>
    entries.flatMap((entry) => (entry.kind === 'notice' && entry.notice.kind === 'host_changed' ? [entry.notice] : []));
  const left = { from: 'host-one', to: 'host-two', because: 'away' };
  expect(agent?.memo.host).toMatchObject({ id: 'elsewhere' });
  expect(movesIn(await entriesOf(h, agent!))).toMatchObject([{ ...left, calls: ['write', 'write'] }]);
  expect(await session.memo()).toMatchObject({ host: here });
  sessionWorks.release();
  await session.ended(1);
  expect(await session.memo()).toMatchObject({ host: elsewhere });
  expect(movesIn(await session.entries())).toMatchObject([{ ...left, calls: ['agent', 'write'] }]);
  await other.stop();
});

const done = [reply('One.'), reply('Two.'), reply('Three.')];

/** Another agent has moved the folder to the other host while this one was away: with no files of theirs. */
async function leaveBehind({ cwd, storePlace }: Harness, root: SessionId): Promise<void> {
  const store = fileStore({ dir: storePlace });
  const record = {
    session: `${root}.agent-other`,
    from: here.id,
    host: elsewhere,
    head: 'a'.repeat(64),
    place: { path: cwd, file: 'of-the-other-host' },
    folders: [cwd],
    at: 0,
  };
  const { next } = await readHostRecords(store, root);
  expect(await createHostRecord(store, next, record)).toBe(true);
}
