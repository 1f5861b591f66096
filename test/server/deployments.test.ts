// Worker Deployments on a real server: sessions at work while the current build changes, by
// Temporal's own command line, and changes back. Builds are processes that can be told apart in a
// history (D5).
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, inject, test } from 'vitest';
import { runChecks } from '../../client/runtime/doctor.ts';
import { gate, reply, toolUse, type ParsedRequest } from '../../scripted-model/index.ts';
import { livePollers } from '../../connection/worker-polls.ts';
import type { WorkerDeployment } from '../../worker/config/deployment.ts';
import { findBinary } from '../../worker/embedded/find-binary.ts';
import { recordsQueue } from '../../workflows/contract/session.ts';
import { crashHarness } from '../support/crash-harness.ts';
import { harness, type OpenSession } from '../support/harness.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';

const SESSIONS = 50;
/** The first release of the server that moves a pinned workflow when it continues as new. */
const MOVES_AT_HANDOVER = [1, 30] as const;

async function temporal(...args: readonly string[]): Promise<string> {
  const { path } = await findBinary({ env: process.env, wanted: null, say: () => {} });
  const { stdout } = await promisify(execFile)(path, [...args, '--address', inject('temporalAddress')], {
    env: { PATH: process.env.PATH, HOME: tempDir() },
  });
  return stdout;
}

/** As a person does it, once the server knows the build. */
async function makeCurrent({ name, build }: WorkerDeployment): Promise<void> {
  const command = ['worker', 'deployment', 'set-current-version', '--yes'];
  const version = ['--deployment-name', name, '--build-id', build];
  await until(() =>
    temporal(...command, ...version).then(
      () => true,
      () => null,
    ),
  );
}

/** How a session went: the builds that decided, in order, and the builds of each kind of activity. */
async function travelsOf({ handle }: Pick<OpenSession, 'handle'>) {
  const events = (await handle.fetchHistory()).events ?? [];
  const decided = events.flatMap(({ workflowTaskCompletedEventAttributes: one }) =>
    one ? [one.deploymentVersion?.buildId ?? 'none'] : [],
  );
  return {
    decided: decided.filter((build, at) => build !== decided[at - 1]),
    workers: new Set(
      events.flatMap(({ activityTaskStartedEventAttributes: one }) => Number(one?.identity?.split('/')[2]) || []),
    ),
  };
}

const isAtTurn =
  (turn: number) =>
  ({ messages }: ParsedRequest): boolean =>
    messages.filter(({ role }) => role === 'assistant').length === turn - 1;

async function stage(versioning: 'auto-upgrade' | 'pinned') {
  const [first, second] = [gate(), gate()];
  const h = await crashHarness({
    ownThread: true,
    script: (request) => {
      if (isAtTurn(1)(request)) return reply([toolUse('glob', { pattern: '1*' })], { hold: first.hold });
      if (isAtTurn(2)(request)) return reply([toolUse('glob', { pattern: '2*' })], { hold: second.hold });
      return reply('Done.');
    },
  });
  const build = (id: string): WorkerDeployment => ({ name: h.taskQueue, build: id, versioning });
  const asked = (turn: number): number => h.bodies().filter(isAtTurn(turn)).length;
  return { ...h, first, second, build, asked };
}

test(`${SESSIONS} sessions at work move to the build that is made current, back with it, and none fails (D5)`, async () => {
  const { worker, build, open, first, second, asked } = await stage('auto-upgrade');
  const one = await worker({ deployment: build('one') });
  await makeCurrent(build('one'));
  const sessions = await Promise.all(Array.from({ length: SESSIONS }, (_, at) => open(`Go ${at}.`)));
  await until(() => asked(1) === SESSIONS);
  const two = await worker({ deployment: build('two') });
  await makeCurrent(build('two'));
  first.release();
  await until(() => asked(2) === SESSIONS);
  await makeCurrent(build('one'));
  second.release();
  const ends = await Promise.all(sessions.map((session) => session.ended(1)));
  expect(new Set(ends.map(({ terminal }) => terminal.reason))).toEqual(new Set(['completed']));
  const travels = await Promise.all(sessions.map(travelsOf));
  expect(new Set(travels.map(({ decided }) => decided.join(' ')))).toEqual(new Set(['one two one']));
  for (const { workers } of travels) expect(workers).toEqual(new Set([one.pid, two.pid]));
});

test(`${SESSIONS} pinned sessions end on the build that began them, and those begun meanwhile on theirs (D5)`, async () => {
  const { worker, build, open, first, second, asked } = await stage('pinned');
  const one = await worker({ deployment: build('one') });
  await makeCurrent(build('one'));
  const sessions = await Promise.all(Array.from({ length: SESSIONS / 2 }, (_, at) => open(`Go ${at}.`)));
  await until(() => asked(1) === SESSIONS / 2);
  const two = await worker({ deployment: build('two') });
  await makeCurrent(build('two'));
  first.release();
  const young = await Promise.all(Array.from({ length: SESSIONS / 2 }, (_, at) => open(`Go young ${at}.`)));
  await until(() => asked(2) === SESSIONS);
  await makeCurrent(build('one'));
  second.release();
  const ends = await Promise.all([...sessions, ...young].map((session) => session.ended(1)));
  expect(new Set(ends.map(({ terminal }) => terminal.reason))).toEqual(new Set(['completed']));
  for (const [those, id, { pid }] of [
    [sessions, 'one', one],
    [young, 'two', two],
  ] as const)
    for (const session of those) expect(await travelsOf(session)).toEqual({ decided: [id], workers: new Set([pid]) });
});

test('a pinned session moves at its next handover where the server knows how, and stays where it does not (D5 L4)', async () => {
  const held = gate();
  const h = await crashHarness({
    handover: { events: 100_000, signals: 5_000, iterations: 1 },
    script: (request) =>
      isAtTurn(1)(request) ? reply([toolUse('glob', { pattern: '*' })], { hold: held.hold }) : reply('Done.'),
  });
  const build = (id: string): WorkerDeployment => ({ name: h.taskQueue, build: id, versioning: 'pinned' });
  await h.worker({ deployment: build('one') });
  await makeCurrent(build('one'));
  const session = await h.open('Go.');
  await until(() => h.bodies().length === 1);
  await h.worker({ deployment: build('two') });
  await makeCurrent(build('two'));
  held.release();
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  const { serverVersion } = await h.client.workflowService.getSystemInfo({});
  const [major = 0, minor = 0] = (serverVersion ?? '').split('.').map(Number);
  const moves = major > MOVES_AT_HANDOVER[0] || (major === MOVES_AT_HANDOVER[0] && minor >= MOVES_AT_HANDOVER[1]);
  expect((await travelsOf(session)).decided).toEqual([moves ? 'two' : 'one']);
  const moving = ['workflow', 'update-options', '--versioning-override-behavior', 'auto_upgrade'];
  await temporal(...moving, '--workflow-id', session.id);
  await session.send('Go on.');
  expect(await session.ended(2)).toMatchObject({ terminal: { reason: 'completed' } });
  expect((await travelsOf(session)).decided.at(-1)).toBe('two');
});

test('steps that need a host run there on whichever build works on it, and a pinned session starves for none (D5 W7)', async () => {
  const here = { id: 'here', name: 'host-one' };
  const elsewhere = { id: 'elsewhere', name: 'host-two' };
  const h = await harness({
    script: [reply('One.'), reply('Two.')],
    worker: { host: here },
  });
  await h.worker.stop();
  const build = (id: string): WorkerDeployment => ({ name: h.taskQueue, build: id, versioning: 'pinned' });
  const old = await h.startWorker({ host: here, deployment: build('one') });
  await makeCurrent(build('one'));
  const session = await h.open('Go.');
  await session.ended(1);
  await old.stop();
  const workers = [
    await h.startWorker({ host: here, deployment: build('two') }),
    await h.startWorker({ host: elsewhere, deployment: build('one') }),
  ];
  await makeCurrent(build('two'));
  await session.send('Go on.');
  expect(await session.ended(2)).toMatchObject({ terminal: { reason: 'completed' } });
  expect((await travelsOf(session)).decided).toEqual(['one']);
  const described = { namespace: 'default', deploymentVersion: { deploymentName: h.taskQueue, buildId: 'two' } };
  const { workerDeploymentVersionInfo } = await h.client.workflowService.describeWorkerDeploymentVersion(described);
  const queues = new Set(workerDeploymentVersionInfo?.taskQueueInfos?.map(({ name }) => name));
  expect(queues).toEqual(new Set([h.taskQueue, recordsQueue(h.taskQueue)]));
  await Promise.all(workers.map((worker) => worker.stop()));
});

test('doctor says which build is current, and versioned workers count as workers (D5)', async () => {
  const h = await crashHarness({ script: [reply('Done.')] });
  const build = (id: string): WorkerDeployment => ({ name: h.taskQueue, build: id });
  const env = { TEMPORAL_ADDRESS: inject('temporalAddress'), HOME: tempDir(), PERDURE_DATA: h.dataDir };
  const check = async (id: string) => {
    const PERDURE_DEPLOYMENT = `${h.taskQueue}:${id}`;
    return (await runChecks({ ...env, PERDURE_DEPLOYMENT })).find(({ name }) => name === 'deployment');
  };
  await h.worker({ deployment: build('one') });
  expect(await check('one')).toMatchObject({
    state: 'note',
    found: expect.stringContaining('no build is current, so build one gets no new sessions') as string,
  });
  await makeCurrent(build('one'));
  expect(await check('one')).toMatchObject({ state: 'ok', found: `${h.taskQueue}:one, auto-upgrade` });
  expect(await check('two')).toMatchObject({
    state: 'note',
    found: expect.stringContaining(`build one is current, so build two gets no new sessions`) as string,
  });
  expect(await livePollers({ temporal: h.client, taskQueue: h.taskQueue })).not.toEqual([]);
});
