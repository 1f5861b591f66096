// What is planned for days on which a zone's clock is changed, without a server.
import { expect, test } from 'vitest';
import { clockChanges, planClockChanges, YEAR } from '../../../client/schedules/clock-changes.ts';

const FROM = Date.UTC(2027, 0, 1);

function changes(cron: string, zone: string, from = FROM) {
  return clockChanges(cron, zone, from, from + YEAR).map(({ fires, ...change }) => ({
    ...change,
    fires: fires.map((at) => new Date(at).toISOString().slice(0, 19)),
  }));
}

const leftOut = (date: string, times: readonly string[], fires: readonly string[]) => ({
  date,
  kind: 'left-out',
  times,
  fires,
});
const doubled = (date: string, times: readonly string[], fires: readonly string[]) => ({
  date,
  kind: 'doubled',
  times,
  fires,
});

test('a time that the clock leaves out is made up for later, one that comes twice fires the first time (L87)', () => {
  expect(changes('30 2 * * *', 'Europe/Berlin')).toEqual([
    leftOut('2027-03-28', ['02:30'], ['2027-03-28T01:30:00']),
    doubled('2027-10-31', ['02:30'], ['2027-10-31T00:30:01']),
  ]);
  expect(changes('@daily', 'Africa/Cairo')).toEqual([leftOut('2027-04-30', ['00:00'], ['2027-04-29T22:00:00'])]);
  expect(changes('30 1 * * *', 'America/New_York')).toEqual([
    doubled('2027-11-07', ['01:30'], ['2027-11-07T05:30:01']),
  ]);
  expect(changes('45 1 * * *', 'Australia/Lord_Howe')).toEqual([
    doubled('2027-04-04', ['01:45'], ['2027-04-03T14:45:01']),
  ]);
});

test('times that are made up for at one moment fire once (L87)', () => {
  expect(changes('0 2,3 * * *', 'Europe/Berlin')[0]).toEqual(leftOut('2027-03-28', ['02:00'], ['2027-03-28T01:00:00']));
  expect(changes('*/30 2 * * 0', 'Europe/Berlin')[0]).toEqual(
    leftOut('2027-03-28', ['02:00', '02:30'], ['2027-03-28T01:00:00', '2027-03-28T01:30:00']),
  );
});

test.each([
  ['0 6 * * *', 'Europe/Berlin'],
  ['30 2 * * 1', 'Europe/Berlin'],
  ['30 2 1 1 *', 'Europe/Berlin'],
  ['30 2 * * *', 'UTC'],
  ['30 2 * * *', 'Asia/Tokyo'],
])('%s in %s is told of no change of the clock, and nothing is planned (L87)', (cron, zone) => {
  expect(changes(cron, zone)).toEqual([]);
  expect(planClockChanges(cron, zone, FROM)).toEqual({ moments: [], skipped: [], until: FROM + 10 * YEAR });
});

test('what fires each hour goes by the hours that pass (L87)', () => {
  for (const cron of ['*/10 * * * *', '@hourly', '5 0-23 * * *']) expect(changes(cron, 'Europe/Berlin')).toEqual([]);
});

test('hours beside a repeated one are planned as well, and are nobody’s news (L87)', () => {
  const plan = planClockChanges('0 1 * * *', 'Europe/Berlin', FROM);
  expect(changes('0 1 * * *', 'Europe/Berlin')).toEqual([]);
  expect(plan.moments[0]).toBe(Date.parse('2027-10-30T23:00:01Z'));
  expect(plan.skipped[0]).toEqual({ year: 2027, month: 10, day: 31, hours: [1, 2, 3] });
});

test('of many times as many years are planned as the server is to keep moments (L87)', () => {
  const many = planClockChanges('* 1-3 * * *', 'Europe/Berlin', FROM);
  expect(many.moments.length).toBeGreaterThan(200);
  expect(many.moments.length).toBeLessThanOrEqual(400);
  expect(many.until).toBeLessThan(FROM + 3 * YEAR);
  expect(planClockChanges('30 2 * * *', 'Europe/Berlin', FROM).moments).toHaveLength(20);
});
