// Schedules over HTTP, asked as a program asks. No port is opened.
import { expect, test } from 'vitest';
import type { PagePorts } from '../../../page/ports.ts';
import { ClientProblem } from '../../../client/problem.ts';
import { nightly } from '../../support/page-ports.ts';
import { problemFrom, recording, stagedApi } from './staged-api.ts';

const schedulesOf = (methods: Readonly<Record<string, unknown>>) => {
  const { calls, ports } = recording(methods);
  return { calls, schedules: ports as unknown as PagePorts['schedules'] };
};

test('a schedule is made, looked at, paused, resumed, fired and deleted as it was asked (Q11 L87)', async () => {
  const triggered = { outcome: 'started', session: 's-1' };
  const { calls, schedules } = schedulesOf({
    create: nightly,
    describe: nightly,
    pause: undefined,
    resume: undefined,
    delete: undefined,
    trigger: triggered,
  });
  const { ask } = await stagedApi({ ports: { schedules } });
  const options = { maxTurns: 3, tags: { team: 'web' } };
  const body = {
    cron: '0 6 * * 1',
    task: 'Go.',
    name: 'nightly',
    timeZone: 'Europe/Berlin',
    overlap: 'skip',
    catchUpMs: 60_000,
    options,
  };
  const made = await ask('/schedules', { body });
  expect([made.status, await made.json()]).toEqual([201, nightly]);
  expect(await (await ask('/schedules/nightly')).json()).toEqual(nightly);
  for (const act of ['pause', 'resume', 'delete'])
    expect(await (await ask(`/schedules/nightly/${act}`, { body: '' })).json()).toEqual({ schedule: 'nightly' });
  expect(await (await ask('/schedules/nightly/trigger', { body: {} })).json()).toEqual(triggered);
  const { cron, task, options: _, ...given } = body;
  expect(calls).toEqual([
    ['create', cron, task, { ...options, ...given, signal: undefined }],
    ...['describe', 'pause', 'resume', 'delete', 'trigger'].map((name) => [name, 'nightly', { signal: undefined }]),
  ]);
});

test('a schedule is changed as it was asked: what is absent stays, and null takes an option back (Q11 L87)', async () => {
  const { calls, schedules } = schedulesOf({ update: nightly });
  const { ask } = await stagedApi({ ports: { schedules } });
  const change = (body: unknown) => ask('/schedules/nightly/update', { body });
  const options = { maxTurns: null, model: 'claude-sonnet-5-5' };
  expect(await (await change({ cron: '@daily', catchUpMs: 60_000, options })).json()).toEqual(nightly);
  await change({ task: 'Go on.' });
  expect(calls).toEqual([
    ['update', 'nightly', { cron: '@daily', catchUpMs: 60_000, options, signal: undefined }],
    ['update', 'nightly', { task: 'Go on.', signal: undefined }],
  ]);
  for (const wrong of [{ name: 'weekly' }, { session: 's-1' }, { options: { maxTurn: 1 } }])
    expect(await problemFrom(change(wrong))).toMatchObject({ status: 400 });
});

test('a list has at most 200, and says that there are others (Q11 L87)', async () => {
  let there = 200;
  const list = async function* () {
    for (let n = 0; n < there; n += 1) yield await Promise.resolve({ ...nightly, name: `n-${n}` });
  };
  const { ask, ports } = await stagedApi({ ports: { schedules: { list } as unknown as PagePorts['schedules'] } });
  expect(ports.schedules.list).toBe(list);
  const listed = async () => (await (await ask('/schedules')).json()) as { schedules: unknown[]; more: boolean };
  expect(await listed()).toMatchObject({ schedules: { length: 200 }, more: false });
  there = 201;
  expect(await listed()).toMatchObject({ schedules: { length: 200 }, more: true });
});

test('one that is made again under its key is the one that was made, under a name it is refused (Q11 L87)', async () => {
  const { calls, schedules } = schedulesOf({
    create: new ClientProblem('refused', 'schedule nightly is here already'),
    describe: nightly,
  });
  const { ask } = await stagedApi({ ports: { schedules } });
  const again = (body: object, key = 'k-1') =>
    ask('/schedules', { body: { cron: '@daily', task: 'Go.', ...body }, headers: { 'idempotency-key': key } });
  expect(await (await again({})).json()).toEqual(nightly);
  await again({});
  await again({}, 'k-2');
  const names = calls.flatMap(([method, , , given]) => (method === 'create' ? (given as { name: string }).name : []));
  expect(names[0]).toMatch(/^sched-[0-9a-f]{20}$/);
  expect([names[1] === names[0], names[2] === names[0]]).toEqual([true, false]);
  expect(await problemFrom(again({ name: 'nightly' }))).toMatchObject({ status: 400, kind: 'refused' });
});

test('what will not do is refused with its sentence, also where a key names nothing that is there (Q11 L87)', async () => {
  const { schedules } = schedulesOf({
    create: new ClientProblem('refused', 'the cron expression will not do'),
    describe: new ClientProblem('no_schedule', 'no schedule'),
  });
  const { ask } = await stagedApi({ ports: { schedules } });
  const headers = { 'idempotency-key': 'k-1' };
  expect(await problemFrom(ask('/schedules', { body: { cron: 'x', task: 'Go.' }, headers }))).toMatchObject({
    detail: 'the cron expression will not do',
  });
  expect(
    await problemFrom(ask('/schedules', { body: { cron: '@daily', task: 'Go.', overlap: 'maybe' } })),
  ).toMatchObject({ status: 400 });
  expect(await problemFrom(ask('/schedules/nowhere'))).toMatchObject({ status: 404, kind: 'no_schedule' });
});
