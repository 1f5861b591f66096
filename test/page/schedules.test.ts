// Schedules on the page, asked as a browser, another site and a stranger would ask. No port is
// opened.
import { expect, test } from 'vitest';
import { ownAccess } from '../../page/hosting/access.ts';
import type { PagePorts } from '../../page/ports.ts';
import type { ScheduleInfo } from '../../client/schedules/schedules.ts';
import { letInWith, nightly, PAGE_HOST, SECRETS, stagedPage } from '../support/page-ports.ts';

const listing = (...schedules: readonly ScheduleInfo[]): Partial<PagePorts> => ({
  schedules: {
    list: async function* () {
      yield* await Promise.resolve(schedules);
    },
  } as unknown as PagePorts['schedules'],
});

test('each schedule stands with its times, its state and links to what its firings opened; due ones first (L87)', async () => {
  const paused = { ...nightly, name: 'paused', paused: true, note: 'paused by ana', next: null, firings: [] };
  const into = { ...nightly, name: 'into', session: 's-1', next: 30_000 };
  const { text } = await stagedPage({ ports: listing(paused, nightly, into) });
  const page = await text('/schedules');
  const at = ['schedule-into', 'schedule-nightly', 'schedule-paused'].map((id) => page.indexOf(`id="${id}"`));
  expect(at).toEqual(at.toSorted((a, b) => a - b));
  expect(at[0]).toBeGreaterThan(0);
  for (const part of [
    'href="/sessions/nightly-19700101T000000Z"',
    '<a href="/sessions/s-1">s-1</a>',
    '<code>0 6 * * 1</code>',
    'paused: by ana',
    'hx-post="/schedules/nightly/pause"',
    'hx-post="/schedules/paused/resume"',
    'hx-confirm="Delete schedule nightly? Its sessions are kept."',
  ])
    expect(page).toContain(part);
  expect(await (await stagedPage()).text('/schedules')).toContain('No schedules yet');
});

test('how late a firing is made up for and what a change of the clock does stand with the times (L87)', async () => {
  const leap = {
    kind: 'left-out',
    date: '2027-03-28',
    times: ['02:30'],
    fires: [Date.UTC(2027, 2, 28, 1, 30)],
  } as const;
  const back = { kind: 'doubled', date: '2027-10-31', times: ['02:00', '02:20', '02:40'], fires: [] } as const;
  const schedule = { ...nightly, timeZone: 'Europe/Berlin', catchUpMs: 3_600_000, clockChanges: [leap, back] };
  const page = await (await stagedPage({ ports: listing(schedule) })).text('/schedules');
  for (const part of [
    'catch-up 1 h',
    'on 2027-03-28 the clock of Europe/Berlin leaves out 02:30: it fires at 03:30 instead',
    'on 2027-10-31 the clock of Europe/Berlin has 02:00 to 02:40 (3 times) twice: it fires the first time only',
  ])
    expect(page).toContain(part);
});

test('whatever a schedule holds is text (L87 O12)', async () => {
  const evil = '<img src=x onerror=alert(1)>\u001b\u202e';
  const { text } = await stagedPage({
    ports: listing({ ...nightly, title: evil, cron: evil, timeZone: evil, paused: true, note: evil, session: evil }),
  });
  const page = await text('/schedules');
  expect(page).toContain('&lt;img');
  for (const bad of ['<img', '\u001b', '\u202e']) expect(page).not.toContain(bad);
});

test('pause, resume, fire now and delete reach the schedule, in the name of who asks (L87 O12)', async () => {
  const names: unknown[] = [];
  const { post, done, ports } = await stagedPage({ ports: { as: (...who) => (names.push(who), ports) } });
  for (const act of ['pause', 'resume', 'trigger', 'delete'])
    expect([act, (await post(`/schedules/nightly/${act}`, {})).status]).toEqual([act, 200]);
  expect(done).toEqual(['pause', 'resume', 'trigger', 'delete'].map((act) => `schedules.${act}`));
  expect(names).toContainEqual(['the owner', 'on the ops page']);
  expect((await post('/schedules/nightly/constructor', {})).status).toBe(404);
});

test('another site, a form and whoever may only look change no schedule (L87 O12)', async () => {
  const access = ownAccess(SECRETS, () => PAGE_HOST, {
    people: [{ name: 'lou', role: 'decide', token: 'l'.repeat(40) }],
  });
  const { post, done } = await stagedPage({}, access);
  const act = '/schedules/nightly/delete';
  expect((await post(act, {}, { origin: 'https://evil.example' })).status).toBe(403);
  expect((await post(act, {}, { 'content-type': 'application/x-www-form-urlencoded' })).status).toBe(415);
  expect((await post(act, {}, { authorization: letInWith('l'.repeat(40)) })).status).toBe(403);
  expect((await post(act, {}, { authorization: '' })).status).toBe(401);
  expect(done).toEqual([]);
});

test('a schedule is changed on the page: its form has what it was made of, and a field made empty is taken back (L87)', async () => {
  const changed: unknown[] = [];
  const made = (await stagedPage()).ports.schedules;
  const schedules: typeof made = {
    ...made,
    settings: async (name) => ({
      ...(await made.settings(name)),
      options: { cwd: '/work', model: 'opus', maxTurns: 7 },
    }),
  };
  const update: PagePorts['schedules']['update'] = (...given) => (changed.push(given), Promise.resolve(nightly));
  const { text, post } = await stagedPage({ ports: { schedules: { ...schedules, update } } });
  expect(await text('/schedules/nightly/edit')).toMatch(/Look for news\..*value="0 6 \* \* 1".*value="7"/s);
  const form = { task: 'Look again.', cron: ' 0 7 * * * ', timeZone: '', overlap: 'skip', model: '', maxBudgetUsd: '' };
  expect((await post('/schedules/nightly/update', { ...form, maxTurns: '9' })).status).toBe(200);
  expect((await post('/schedules/nightly/update', { ...form, maxTurns: 'many' })).status).toBe(400);
  await post('/schedules/nightly/update', { ...form, model: 'opus', maxTurns: '7' });
  const others = { task: 'Look again.', cron: '0 7 * * *', timeZone: 'UTC', overlap: 'skip' };
  expect(changed).toEqual([
    ['nightly', { ...others, options: { model: null, maxTurns: 9 } }],
    ['nightly', { ...others, options: {} }],
  ]);
});
