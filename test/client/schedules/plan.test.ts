// What a schedule is made of, without a server.
import type { Client, ScheduleDescription } from '@temporalio/client';
import { expect, test } from 'vitest';
import { planChange, settingsOf } from '../../../client/schedules/change-schedule.ts';
import { type ScheduleOptions, planSchedule } from '../../../client/schedules/plan.ts';
import type { ClientOptions } from '../../../client/sessions/start.ts';
import { present } from '../../../workflows/contract/present.ts';
import type { OptionChanges } from '../../../workflows/contract/session.ts';
import { firingOf, scheduleId, scheduleName } from '../../../workflows/contract/schedules/firing.ts';

const client: ClientOptions = {
  temporal: {} as Client,
  store: {} as ClientOptions['store'],
  live: async function* () {},
  visibility: () => Promise.resolve(true),
  storeId: () => Promise.resolve('store-1'),
  sealed: true,
};

const plan = (given: ScheduleOptions = {}, task = 'Look.') => planSchedule(client, { cron: '0 6 * * 1', task, given });

test('a session of its own gets the schedule’s tag, a mode that asks nobody, and what a session is begun with (L87)', async () => {
  const { name, input, facts, taskQueue } = await plan({ name: 'weekly', cwd: '/w', tags: { a: 'b' }, maxTurns: 3 });
  expect([name, taskQueue, facts.overlap, facts.timeZone]).toEqual(['weekly', 'perdure', 'skip', 'UTC']);
  expect(input).toEqual({
    kind: 'open',
    schedule: 'weekly',
    body: { kind: 'text', text: 'Look.' },
    input: {
      options: { cwd: '/w', maxTurns: 3, permissionMode: 'dontAsk', tags: { a: 'b', schedule: 'weekly' } },
      title: 'Look.',
      visibility: true,
      attributes: true,
      sealed: true,
    },
    memo: { perdureStore: 'store-1' },
  });
});

test('a mode that is given holds, and null leaves it to the worker (L87)', async () => {
  expect((await plan({ permissionMode: 'acceptEdits' })).input).toMatchObject({
    input: { options: { permissionMode: 'acceptEdits' } },
  });
  expect(JSON.stringify((await plan({ permissionMode: null })).input)).not.toContain('permissionMode');
});

test('a schedule that leaves the mode to the worker still does when something else is changed (L87)', async () => {
  const made = await plan({ name: 'weekly', cwd: '/w', permissionMode: null, maxTurns: 3 });
  const action = { args: [made.input], taskQueue: made.taskQueue };
  const seen = { action, policies: { catchupWindow: made.catchUpMs } } as unknown as ScheduleDescription;
  const change = (options?: OptionChanges) =>
    planChange(client, 'weekly', seen, { now: settingsOf(seen, made.facts), changes: present({ options }) });
  expect((await change()).input).toEqual(made.input);
  expect((await change({ permissionMode: 'plan' })).input).toMatchObject({
    input: { options: { permissionMode: 'plan', maxTurns: 3 } },
  });
  expect(JSON.stringify((await change({ maxTurns: null })).input)).not.toMatch(/permissionMode|maxTurns/);
});

test('without a name one is made (L87)', async () => {
  expect((await plan()).name).toMatch(/^sched-[0-9a-z]{10}$/);
});

test.each<[string, ScheduleOptions, string, string]>([
  ['a name with a dot', { name: 'a.b' }, 'Look.', '"a.b" is no name of a schedule: use letters'],
  ['a long name', { name: 'a'.repeat(61) }, 'Look.', 'is no name of a schedule'],
  ['an empty task', {}, '  ', 'the prompt is empty'],
  [
    'a long task',
    {},
    'x'.repeat(16_384),
    'the task has 16386 bytes: give a schedule at most 16384, and put the rest into a file',
  ],
  ['a short catch-up', { catchUpMs: 9_999 }, 'Look.', 'catch-up is 9999 ms: give 10 s to 365 days'],
  ['a catch-up that is no number', { catchUpMs: '1h' as never }, 'Look.', 'catch-up is no number: give 10 s'],
  ['an unknown zone', { timeZone: 'Here' }, 'Look.', '"Here" is no time zone'],
  [
    'an unknown policy',
    { overlap: 'often' as never },
    'Look.',
    'there is no overlap policy "often": give skip, buffer-one',
  ],
  [
    'a tag of its own',
    { tags: { schedule: 'x' } },
    'Look.',
    'tag "schedule" is given by the schedule itself: leave it out',
  ],
  ['a limit that is none', { maxTurns: 0 }, 'Look.', 'max turns is 0'],
  [
    'a policy with a session',
    { session: 's-1', overlap: 'skip' },
    'Look.',
    'an overlap policy and a session are given',
  ],
  [
    'workers with a session',
    { session: 's-1', workers: { taskQueue: 'q', configuration: null } },
    'Look.',
    'workers and a session are given',
  ],
  ['no session id', { session: 'a b' }, 'Look.', 'is no session id'],
])('%s is refused with a sentence (L87)', async (_, given, task, sentence) => {
  await expect(plan(given, task)).rejects.toMatchObject({
    kind: 'refused',
    message: expect.stringContaining(sentence) as string,
  });
});

test('a firing’s workflow names its schedule and its session, and a session is never taken for one (L87)', () => {
  const id = scheduleId('every-day');
  expect(firingOf(`${id}-2026-11-25T06:00:00Z`)).toEqual({ schedule: id, session: 'every-day-20261125T060000Z' });
  for (const other of [id, 's-4k2', `${id}-2026`, 'every-day-20261125T060000Z']) expect(firingOf(other)).toBeNull();
  expect([scheduleName(id), scheduleName('someone-elses')]).toEqual(['every-day', null]);
});
