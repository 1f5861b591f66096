// Schedules on a real server: what fires opens a session, or is the next prompt of one, and what is
// known of it without a worker.
import { randomUUID } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { createClient } from '../../client/client.ts';
import type { ScheduleOptions } from '../../client/schedules/plan.ts';
import { ClientProblem } from '../../client/problem.ts';
import type { SessionInfo } from '../../client/sessions/info.ts';
import { scheduleId, SCHEDULED_TYPE } from '../../workflows/contract/schedules/firing.ts';
import { gate, reply, toolUse } from '../../scripted-model/index.ts';
import { endSession, harness, type Harness } from '../support/harness.ts';
import { keepHistory } from '../support/kept-history.ts';
import { newKeys } from '../support/new-keys.ts';
import { until } from '../support/until.ts';
import { fileStore } from '../../store/values/file-store.ts';

/** Never within a test. */
const FAR = '0 6 1 1 *';

function clientOf(h: Harness, sealed = false) {
  return createClient({
    temporal: h.client,
    store: fileStore({ dir: h.storePlace }),
    live: async function* () {},
    visibility: () => Promise.resolve(true),
    taskQueue: h.taskQueue,
    ...(sealed && { sealed }),
  });
}

type Sessions = ReturnType<typeof clientOf>;

async function scheduled(h: Harness, sessions: Sessions, options: ScheduleOptions = {}) {
  const name = `t-${randomUUID().slice(0, 18)}`;
  const own = options.session === undefined ? { cwd: h.cwd } : {};
  const made = await sessions.schedules.create(FAR, 'Look for news.', { name, ...own, ...options });
  onTestFinished(async () => {
    const { firings } = await sessions.schedules.describe(name).catch(() => ({ firings: [] }));
    await sessions.schedules.delete(name).catch(() => undefined);
    for (const { session } of firings) await endSession(h.client.workflow.getHandle(session)).catch(() => undefined);
  });
  return made;
}

async function all<Item>(items: AsyncIterable<Item>): Promise<readonly Item[]> {
  const found: Item[] = [];
  for await (const item of items) found.push(item);
  return found;
}

const ofSchedule = (sessions: Sessions, name: string): Promise<readonly SessionInfo[]> =>
  all(sessions.list({ filter: `tag:schedule=${name}` }));

test('a firing opens a session of its own, which lists find by its schedule and which closes with its run (L87)', async () => {
  const h = await harness({ script: [reply([toolUse('bash', { command: 'touch made' })]), reply('No news.')] });
  const sessions = clientOf(h);
  const made = await scheduled(h, sessions, { tags: { team: 'web' }, maxTurns: 7, timeZone: 'Europe/Berlin' });
  expect(made).toMatchObject({ cron: FAR, timeZone: 'Europe/Berlin', overlap: 'skip', paused: false, firings: [] });
  // The first of January at six, in Berlin.
  expect(new Date(made.next ?? 0).toISOString()).toMatch(/-01-01T05:00:00\.000Z$/);
  const fired = await sessions.schedules.trigger(made.name);
  expect(fired).toMatchObject({
    outcome: 'started',
    session: expect.stringMatching(`^${made.name}-\\d{8}T\\d{6}Z$`) as string,
  });
  const session = fired.session ?? '';
  const described = await until(async () => {
    const seen = await sessions.describe(session).catch(() => null);
    return seen?.status === 'completed' ? seen : null;
  });
  expect(described).toMatchObject({
    runs: 1,
    phase: 'closed',
    title: 'Look for news.',
    last: { terminal: { reason: 'completed' } },
  });
  expect(described.facts?.tags).toEqual({ team: 'web', schedule: made.name });
  expect(described.facts?.querySource).toBe('schedule');
  // Nobody is there to be asked, and the mode says so.
  expect(JSON.stringify(h.bodies()[1]?.messages)).toMatch(/dontAsk|denied|not allowed|permission/i);
  const found = await until(async () => ((await ofSchedule(sessions, made.name)).length > 0 ? true : null));
  expect(found).toBe(true);
  expect((await ofSchedule(sessions, made.name)).map(({ session: id }) => id)).toEqual([session]);
  expect(await sessions.schedules.describe(made.name)).toMatchObject({ firings: [{ session }], waitsForWorker: false });
  const firing = await firingOf(h, made.name);
  expect(await firing.result()).toEqual({ session, reason: 'completed' });
  await keepHistory('a firing of a schedule l87', firing);
});

async function firingOf(h: Harness, name: string) {
  const { info } = await h.client.schedule.getHandle(scheduleId(name)).describe();
  return h.client.workflow.getHandle(info.recentActions.at(-1)?.action.workflow.workflowId ?? '');
}

test('while one runs the next is skipped, and with cancel-other the one that runs is cancelled first (L87)', async () => {
  const held = gate();
  const h = await harness({ script: { replies: [{ ...reply('Held.', { hold: held.hold }), times: 'any' }] } });
  const sessions = clientOf(h);
  const { name } = await scheduled(h, sessions);
  const first = await sessions.schedules.trigger(name);
  await until(() => h.bodies().length === 1);
  expect(await sessions.schedules.trigger(name)).toEqual({ outcome: 'skipped', session: null });
  expect(await sessions.schedules.describe(name)).toMatchObject({ skipped: 1, firings: [{ session: first.session }] });
  const other = await scheduled(h, sessions, { overlap: 'cancel-other' });
  const second = await sessions.schedules.trigger(other.name);
  await until(() => h.bodies().length === 2);
  await sessions.schedules.trigger(other.name);
  await until(async () => ((await sessions.describe(second.session ?? '')).status === 'cancelled' ? true : null));
  await until(() => h.bodies().length === 3);
  held.release();
});

test('a paused schedule is not due until it is resumed, and a deleted one is gone with its sessions left (L87)', async () => {
  const h = await harness({ script: [reply('Done.')] });
  const sessions = clientOf(h);
  const { name } = await scheduled(h, sessions);
  await sessions.schedules.pause(name);
  expect(await sessions.schedules.describe(name)).toMatchObject({ paused: true, next: null });
  // A person's own word.
  const { session } = await sessions.schedules.trigger(name);
  await sessions.schedules.resume(name);
  expect(await sessions.schedules.describe(name)).toMatchObject({ paused: false, next: expect.any(Number) as number });
  const listed = await until(async () => {
    return (await all(sessions.schedules.list())).find((each) => each.name === name) ?? null;
  });
  expect(listed).toMatchObject({ cron: FAR, title: 'Look for news.', taskQueue: h.taskQueue });
  await sessions.schedules.delete(name);
  await expect(sessions.schedules.pause(name)).rejects.toMatchObject({ kind: 'no_schedule' });
  await until(async () =>
    (await sessions.describe(session ?? '').catch(() => null))?.status === 'completed' ? true : null,
  );
  await expect(sessions.schedules.trigger(name)).rejects.toMatchObject({ kind: 'no_schedule' });
});

test('with a session each firing is its next prompt; once that is closed the schedule pauses and says so (L87)', async () => {
  const h = await harness({ script: [reply('First.'), reply('Second.')] });
  const sessions = clientOf(h);
  const session = await h.open('Begin.');
  await session.ended(1);
  const { name } = await scheduled(h, sessions, { session: session.id });
  expect(await sessions.schedules.trigger(name)).toEqual({ outcome: 'started', session: session.id });
  expect(await session.ended(2)).toMatchObject({ terminal: { reason: 'completed' } });
  expect(JSON.stringify(h.bodies()[1]?.messages)).toContain('Look for news.');
  await keepHistory('a firing of a schedule that sends a prompt l87', await firingOf(h, name));
  await sessions.cancel(session.id);
  await until(async () => ((await sessions.describe(session.id)).status === 'cancelled' ? true : null));
  await sessions.schedules.trigger(name);
  const paused = await until(async () => {
    const seen = await sessions.schedules.describe(name);
    return seen.paused ? seen : null;
  });
  expect(paused.note).toContain(`session ${session.id} is closed`);
  await expect(scheduled(h, sessions, { session: session.id })).rejects.toMatchObject({ kind: 'closed' });
});

test('a firing that was due is named after its time, and two that are asked for in one second are two (L87)', async () => {
  const h = await harness({ script: { replies: [{ ...reply('Done.'), times: 'any' }] } });
  const sessions = clientOf(h);
  const { name } = await scheduled(h, sessions, { overlap: 'allow-all' });
  // The server fires for a time that is past as for one that has come.
  const due = { start: new Date('2026-01-01T05:59:00Z'), end: new Date('2026-01-01T06:01:00Z') };
  await h.client.schedule.getHandle(scheduleId(name)).backfill({ ...due, overlap: 'ALLOW_ALL' });
  const [first] = await until(async () => {
    const { firings } = await sessions.schedules.describe(name);
    return firings.length > 0 ? firings : null;
  });
  expect(first).toEqual({ session: `${name}-20260101T060000Z`, at: Date.UTC(2026, 0, 1, 6) });
  await until(async () =>
    (await sessions.describe(first?.session ?? '').catch(() => null))?.status === 'completed' ? true : null,
  );
  const fired = [await sessions.schedules.trigger(name), await sessions.schedules.trigger(name)];
  fired.push(...(await Promise.all([sessions.schedules.trigger(name), sessions.schedules.trigger(name)])));
  expect(fired.map(({ outcome }) => outcome)).toEqual(['started', 'started', 'started', 'started']);
  expect(new Set(fired.map(({ session }) => session)).size).toBe(4);
  const { firings } = await sessions.schedules.describe(name);
  expect(new Set(firings.map(({ session }) => session)).size).toBe(5);
});

test('a firing without a worker waits for one, and says so; payloads may be sealed (L87)', async () => {
  const h = await harness({ script: [reply('Sealed.')], keys: newKeys() });
  const sessions = clientOf(h, true);
  const queue = `${h.taskQueue}-gone`;
  const { name } = await scheduled(h, sessions, {
    workers: { taskQueue: queue, configuration: { name: 'gone', file: '/gone.ts' } },
  });
  await sessions.schedules.trigger(name);
  await until(async () => ((await sessions.schedules.describe(name)).waitsForWorker ? true : null));
  expect(await sessions.schedules.describe(name)).toMatchObject({ configuration: { name: 'gone' } });
  const worker = await h.startWorker({ taskQueue: queue });
  onTestFinished(() => worker.stop());
  const { session = '' } = (await sessions.schedules.describe(name)).firings[0] ?? {};
  await until(async () => ((await sessions.describe(session).catch(() => null))?.status === 'completed' ? true : null));
  expect(await sessions.result(session)).toMatchObject({ text: 'Sealed.' });
});

test('what is no schedule’s argument fails with a sentence (L87)', async () => {
  const h = await harness({ script: [] });
  const start = { taskQueue: h.taskQueue, workflowId: `t-${randomUUID()}`, args: [{ kind: 'open' }] };
  const handle = await h.client.workflow.start(SCHEDULED_TYPE, start);
  await expect(handle.result()).rejects.toMatchObject({
    cause: { message: 'the argument is not what a schedule says' },
  });
});

test('a schedule that is changed fires at its new times with its new task and options, and lists say so (L87)', async () => {
  const h = await harness({ script: [reply('Changed, indeed.')] });
  const sessions = clientOf(h);
  const { name } = await scheduled(h, sessions, { tags: { team: 'web' }, maxTurns: 7, model: 'claude-sonnet-5-5' });
  await sessions.schedules.pause(name);
  const changed = await sessions.schedules.update(name, {
    cron: '0 7 1 2 *',
    timeZone: 'Europe/Berlin',
    task: 'Look elsewhere.',
    options: { maxTurns: 3, model: null },
  });
  expect(changed).toMatchObject({
    cron: '0 7 1 2 *',
    timeZone: 'Europe/Berlin',
    title: 'Look elsewhere.',
    paused: true,
  });
  const { task, options } = await sessions.schedules.settings(name);
  expect([task, options]).toEqual([
    'Look elsewhere.',
    { cwd: h.cwd, permissionMode: 'dontAsk', maxTurns: 3, tags: { team: 'web' } },
  ]);
  await expect(sessions.schedules.update(name, { cron: 'often' })).rejects.toThrow(ClientProblem);
  const { session } = await sessions.schedules.trigger(name);
  await until(async () => (await ofSchedule(sessions, name)).some(({ title }) => title === 'Look elsewhere.'));
  await until(async () => JSON.stringify(await all(sessions.transcript(session ?? ''))).includes('Changed, indeed.'));
});

test('an open session is told with each firing what goes back to the worker, also when the schedule is changed (L87)', async () => {
  const h = await harness({ script: [reply('First.')] });
  const sessions = clientOf(h);
  const session = await h.open('Begin.');
  await session.ended(1);
  const { name } = await scheduled(h, sessions, { session: session.id, maxTurns: null, tags: null, model: 'opus' });
  await sessions.schedules.update(name, { cron: '0 7 1 2 *' });
  expect((await sessions.schedules.settings(name)).options).toEqual({ maxTurns: null, tags: null, model: 'opus' });
  await sessions.schedules.update(name, { options: { maxTurns: 3, model: null } });
  expect((await sessions.schedules.settings(name)).options).toEqual({ maxTurns: 3, tags: null, model: null });
});

test('two changes of a schedule at once both hold (L87)', async () => {
  const h = await harness({ script: [] });
  const sessions = clientOf(h);
  const { name } = await scheduled(h, sessions, { maxTurns: 7 });
  const changes = [{ cron: '0 7 1 2 *' }, { task: 'Look elsewhere.' }, { options: { maxTurns: 3 } }];
  // Each person of a page has a client of their own.
  await Promise.all(changes.map((change) => clientOf(h).schedules.update(name, change)));
  const { cron, task, options } = await sessions.schedules.settings(name);
  expect([cron, task, options.maxTurns]).toEqual(['0 7 1 2 *', 'Look elsewhere.', 3]);
});
