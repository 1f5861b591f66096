// Schedules on days on which the clock of their zone is changed, as a real server plans them.
import { randomUUID } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import { expect, inject, onTestFinished, test } from 'vitest';
import { tsToMs, msToTs } from '@temporalio/common/lib/time.js';
import { memoryStore } from '../support/memory-store.ts';
import { createClient } from '../../client/client.ts';
import type { ScheduleOptions } from '../../client/schedules/plan.ts';
import { scheduleId } from '../../workflows/contract/schedules/firing.ts';

async function opened() {
  const connection = await Connection.connect({ address: inject('temporalAddress') });
  onTestFinished(() => connection.close());
  const temporal = new Client({ connection });
  const sessions = createClient({
    temporal,
    store: memoryStore(),
    live: async function* () {},
    visibility: () => Promise.resolve(true),
    taskQueue: `test-${randomUUID()}`,
  });
  const create = async (cron: string, options: ScheduleOptions = {}) => {
    const made = await sessions.schedules.create(cron, 'Look.', { cwd: '/', ...options });
    onTestFinished(() => sessions.schedules.delete(made.name));
    return made;
  };
  return { temporal, sessions, create };
}

const DAY = 86_400_000;
/** The server tells at most a thousand times at once. */
const PIECE = 150 * DAY;

/**
 * Two years of times at which the server says that it will fire, in milliseconds since the epoch.
 */
async function timesOf(temporal: Client, name: string): Promise<readonly number[]> {
  const found: number[] = [];
  const from = Date.now();
  for (let start = from; start < from + 2 * 365 * DAY; start += PIECE) {
    const { startTime } = await temporal.workflowService.listScheduleMatchingTimes({
      namespace: 'default',
      scheduleId: scheduleId(name),
      startTime: msToTs(start),
      endTime: msToTs(start + PIECE - 1),
    });
    found.push(...startTime.map((time) => tsToMs(time)));
  }
  return found;
}

function localDay(timeZone: string, at: number): string {
  return new Intl.DateTimeFormat('en-CA', { timeZone, dateStyle: 'short' }).format(at);
}

/** The days from the first to the last on which it fires, of these weekdays; Sunday is 0. */
function daysBetween(first: string, last: string, weekdays: readonly number[]): readonly string[] {
  const days: string[] = [];
  for (let at = Date.parse(first); at <= Date.parse(last); at += DAY)
    if (weekdays.includes(new Date(at).getUTCDay())) days.push(new Date(at).toISOString().slice(0, 10));
  return days;
}

const DAILY = [0, 1, 2, 3, 4, 5, 6];

test.each<[string, string, number, readonly number[]]>([
  ['@daily', 'Africa/Cairo', 1, DAILY],
  ['@daily', 'America/Santiago', 1, DAILY],
  ['@daily', 'America/Havana', 1, DAILY],
  ['@daily', 'Europe/London', 1, DAILY],
  ['30 0 * * *', 'Atlantic/Azores', 1, DAILY],
  ['30 2 * * *', 'Europe/Berlin', 1, DAILY],
  ['0 1 * * *', 'Europe/Berlin', 1, DAILY],
  ['59 1 * * *', 'Europe/Berlin', 1, DAILY],
  ['0 3 * * *', 'Europe/Berlin', 1, DAILY],
  ['*/20 2 * * *', 'Europe/Berlin', 3, DAILY],
  ['30 1 * * *', 'America/New_York', 1, DAILY],
  ['30 2 * * *', 'America/New_York', 1, DAILY],
  ['30 1 * * *', 'Europe/Dublin', 1, DAILY],
  ['10 2 * * *', 'Australia/Lord_Howe', 1, DAILY],
  ['40 1 * * *', 'Australia/Lord_Howe', 1, DAILY],
  ['0 9 * * 0', 'America/Santiago', 1, [0]],
  ['0 9 * * 6', 'America/Santiago', 1, [6]],
  ['@weekly', 'America/Havana', 1, [0]],
  ['30 23 * * 6', 'America/Santiago', 1, [6]],
  ['0 9 * * 1-5', 'America/Santiago', 1, [1, 2, 3, 4, 5]],
])(
  '%s in %s fires as often on each of its days, %i in all, whatever the clock does (L87)',
  async (cron, timeZone, times, weekdays) => {
    const { temporal, create } = await opened();
    const { name } = await create(cron, { timeZone });
    const fired = (await timesOf(temporal, name)).map((at) => localDay(timeZone, at));
    const days = daysBetween(fired[0] ?? '', fired.at(-1) ?? '', weekdays);
    expect(days.length).toBeGreaterThan(100);
    expect(fired).toEqual(days.flatMap((day) => Array.from({ length: times }, () => day)));
  },
);

test('what is told of a change of the clock is when the server fires (L87)', async () => {
  const { temporal, create, sessions } = await opened();
  const made = await create('30 2 * * *', { timeZone: 'europe/berlin' });
  expect(made.timeZone).toBe('Europe/Berlin');
  const told = new Map(made.clockChanges.map(({ kind, times }) => [kind, times]));
  expect([told.get('doubled'), told.get('left-out')]).toEqual([['02:30'], ['02:30']]);
  const fired = await timesOf(temporal, made.name);
  for (const { date, fires } of made.clockChanges)
    expect(fired.filter((at) => localDay('Europe/Berlin', at) === date)).toEqual(fires);
  expect((await sessions.schedules.describe(made.name)).clockChanges).toEqual(made.clockChanges);
});

test('a zone that the server spells otherwise is refused with a sentence (L87)', async () => {
  const { create } = await opened();
  await expect(create('@daily', { timeZone: 'asia/kolkata' })).rejects.toMatchObject({
    kind: 'refused',
    message: expect.stringMatching(
      /^the Temporal server has no time zone "asia\/kolkata": give a name as the tz/,
    ) as string,
  });
});

test('how late a firing is made up for is kept at the server, a day where nothing is said (L87)', async () => {
  const { temporal, create } = await opened();
  const window = async (name: string) =>
    (await temporal.schedule.getHandle(scheduleId(name)).describe()).policies.catchupWindow;
  const made = await create('@daily');
  expect([made.catchUpMs, await window(made.name)]).toEqual([DAY, DAY]);
  const other = await create('@daily', { catchUpMs: 3_600_000 });
  expect([other.catchUpMs, await window(other.name)]).toEqual([3_600_000, 3_600_000]);
});
