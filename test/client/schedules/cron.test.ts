import { expect, test } from 'vitest';
import { asServersSpell, cronProblem, readCron, timeZoneProblem } from '../../../client/schedules/cron.ts';

test.each([
  '0 6 * * 1',
  '*/10 * * * *',
  '5/10 8-18/2 * * mon-FRI',
  '0,30 0 1,15 jan,Jul *',
  '0 0 29 2 *',
  '0 6 * * 7',
  '0 6 */2 * 1',
  ' 0  6 * * 1 ',
  '@daily',
])('%s is a cron expression (L87)', (cron) => {
  expect(cronProblem(cron)).toBeUndefined();
});

const FIELDS = 'give minute, hour, day of the month, month and day of the week, such as "0 6 * * 1"';

test.each([
  ['', `the cron expression "" has 0 fields: ${FIELDS}`],
  ['0 6 * *', `the cron expression "0 6 * *" has 4 fields: ${FIELDS}`],
  ['0 0 6 * * 1', `the cron expression "0 0 6 * * 1" has 6 fields: ${FIELDS}`],
  [`${'*/1,'.repeat(250)}1 6 * * 1`, /^the cron expression "[^"]{80}" has 1009 characters: give at most 1000$/],
  ['@noon', /is not known: give minute.*@daily/],
  ['@every 5m', /is not known/],
  ['TZ=UTC 0 6 * * 1', /begins with a time zone: leave that out there, and give it as the time zone of the schedule/],
  ['CRON_TZ=Mars/Olympus 0 6 * * 1', /begins with a time zone/],
  ['TZ= @daily', /begins with a time zone/],
  ['60 6 * * 1', '"60" is no minute: give 0 to 59'],
  ['0 24 * * *', '"24" is no hour: give 0 to 23'],
  ['0 6 0 * *', '"0" is no day of the month: give 1 to 31'],
  ['0 6 * 13 *', '"13" is no month: give 1 to 12, or names such as feb'],
  ['0 6 * * someday', '"someday" is no day of the week: give 0 to 7, or names such as mon'],
  ['0 6 * * 5-1', 'the range "5-1" of the day of the week is the wrong way round: give the lower one first'],
  ['*/0 * * * *', 'the step of "*/0" is 0: give 1 or more'],
  ['0 6 L * *', '"L" is no day of the month: give 1 to 31'],
  ['0 6 1, * *', '"" is no day of the month: give a number, a list 1,3, a range 1-5, *, or a step such as */10'],
  ['-5 6 * * *', '"-5" is no minute: give a number'],
  ['0 6 13 * 5', 'names days of the month and of the week: give one of them, and * for the other'],
  ['0 0 30 2 *', 'names a day that none of its months has'],
  ['0 0 31 4,6 *', 'names a day that none of its months has'],
])('%j is refused with a sentence (L87)', (cron, sentence) => {
  const problem = cronProblem(cron);
  expect(problem).toEqual(
    typeof sentence === 'string' ? expect.stringContaining(sentence) : expect.stringMatching(sentence),
  );
  expect(problem).not.toContain('\n');
});

test.each(['UTC', 'Europe/Berlin', 'America/Argentina/Buenos_Aires'])('%s is a time zone (L87)', (zone) => {
  expect(timeZoneProblem(zone)).toBeUndefined();
});

test.each(['', '+02:00', 'Mars/Olympus', 'Europe/Berlin '])(
  '%j is no time zone, which a sentence says (L87)',
  (zone) => {
    expect(timeZoneProblem(zone)).toMatch(/is no time zone: give a name such as Europe\/Berlin or UTC$/);
  },
);

test('a name of a zone is spelled as servers know it (L87)', () => {
  expect(['europe/berlin', 'utc', 'Asia/Kolkata', 'America/New_York'].map(asServersSpell)).toEqual([
    'Europe/Berlin',
    'UTC',
    'Asia/Kolkata',
    'America/New_York',
  ]);
});

test('what an expression means is read, short names and Sunday’s other number included (L87)', () => {
  const { minutes, hours, weekdays } = readCron('*/20 8-10 * * 5-7');
  expect([[...minutes], [...hours], [...weekdays]]).toEqual([
    [0, 20, 40],
    [8, 9, 10],
    [5, 6, 0],
  ]);
  expect([...readCron('@yearly').months]).toEqual([1]);
});
