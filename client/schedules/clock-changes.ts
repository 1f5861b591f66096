// Days on which a zone's clock is changed (L87): the times of a schedule that it leaves out or has
// twice, and what the server is told so that it fires once for each. The server passes over times
// that are not there and, in some of its versions, fires twice for one that is there twice, or an
// hour beside it.
import { RecentMap } from '../../system/recent-map.ts';
import { type CronTimes, readCron } from './cron.ts';

export type ClockChange = {
  /** In the schedule's time zone: 2027-03-28. */
  readonly date: string;
  /** What the clock does with the times. */
  readonly kind: 'left-out' | 'doubled';
  /** Times of the day, in the schedule's time zone: 02:30. */
  readonly times: readonly string[];
  /** When it fires for them; milliseconds since the epoch. */
  readonly fires: readonly number[];
};

/** Hours of a day in the schedule's time zone at which the cron expression does not count. */
export type SkippedHours = {
  readonly year: number;
  /** From 1. */
  readonly month: number;
  readonly day: number;
  readonly hours: readonly number[];
};

export type ClockPlan = {
  /** When it fires besides; milliseconds since the epoch. */
  readonly moments: readonly number[];
  readonly skipped: readonly SkippedHours[];
  /** Changes of the clock are planned for up to here. */
  readonly until: number;
};

const [SECOND, MINUTE, HOUR, DAY] = [1_000, 60_000, 3_600_000, 86_400_000];
export const YEAR = 366 * DAY;
const HORIZON = 10 * YEAR;
/** Each is a part of what the server keeps of the schedule. */
const MOST_MOMENTS = 400;

/** Of a cron expression and a time zone without a problem. `from`: milliseconds since the epoch. */
export function planClockChanges(cron: string, timeZone: string, from: number): ClockPlan {
  const moments: number[] = [];
  const skipped: SkippedHours[] = [];
  for (const shift of shiftsOf(timeZone, from, from + HORIZON)) {
    const planned = planShift(readCron(cron), shift);
    if (moments.length + planned.moments.length > MOST_MOMENTS) return { moments, skipped, until: shift.at };
    moments.push(...planned.moments);
    skipped.push(...planned.skipped);
  }
  return { moments, skipped, until: from + HORIZON };
}

/** Those from `from` to `to` that leave out or double one of its times. */
export function clockChanges(cron: string, timeZone: string, from: number, to: number): readonly ClockChange[] {
  return shiftsOf(timeZone, from, to).flatMap((shift) => planShift(readCron(cron), shift).change ?? []);
}

/** Instead of local times: those of UTC clocks that show the same. */
type Wall = number;

/**
 * `at`: milliseconds since the epoch. `before`, `after`: how far the zone's clock is ahead of UTC.
 */
type Shift = { readonly at: number; readonly before: number; readonly after: number };

type Planned = Omit<ClockPlan, 'until'> & { readonly change?: ClockChange };

const NOTHING: Planned = { moments: [], skipped: [] };

function planShift(times: CronTimes, shift: Shift): Planned {
  // What fires each hour goes by the hours that pass, whatever the clock shows.
  if (times.hours.size === 24) return NOTHING;
  const { at, before, after } = shift;
  const isLeftOut = before < after;
  const [start, end] = isLeftOut ? [at + before, at + after] : [at + after, at + before];
  const touched = wallsOf(times, start, end);
  const hours = isLeftOut ? skippedAtGap(times, start, end) : skippedAtRepeat(times, start, end);
  // The server would leave out a moment that shows a skipped time: a second later is another time.
  const fires = (wall: Wall): number => momentOf(wall, shift) + (hours ? SECOND : 0);
  const moments = [...new Set((hours ? wallsOf(times, Math.min(start, hours[0]), hours[1]) : touched).map(fires))];
  const skipped = hours ? daysOf(...hours) : [];
  if (touched.length === 0) return { moments, skipped };
  const change: ClockChange = {
    date: dateOf(touched[0] ?? start),
    kind: isLeftOut ? 'left-out' : 'doubled',
    times: touched.map((wall) => new Date(wall).toISOString().slice(11, 16)),
    fires: [...new Set(touched.map(fires))],
  };
  return { moments, skipped, change };
}

type Range = readonly [from: Wall, to: Wall];

/**
 * A day that begins with a gap has the weekday of the day before, for the server: all of it is
 * planned.
 */
function skippedAtGap({ weekdays }: CronTimes, start: Wall, end: Wall): Range | null {
  const midnight = Math.ceil(start / DAY) * DAY;
  return midnight < end && weekdays.size < 7 ? [midnight, midnight + DAY] : null;
}

/** The hour before and the one after are not safe from the server either. */
function skippedAtRepeat(times: CronTimes, start: Wall, end: Wall): Range | null {
  const from = Math.floor(start / HOUR) * HOUR - HOUR;
  return wallsOf(times, from, end).length > 0 ? [from, Math.ceil(end / HOUR) * HOUR + HOUR] : null;
}

/**
 * A time that is left out is meant by the clock as it was before, and of one that comes twice the
 * first (as RFC 5545 has it).
 */
function momentOf(wall: Wall, { at, before, after }: Shift): number {
  const isLater = wall - before >= at && wall - after >= at;
  return wall - (isLater ? after : before);
}

function wallsOf({ minutes, hours, days, months, weekdays }: CronTimes, from: Wall, to: Wall): readonly Wall[] {
  const found: Wall[] = [];
  for (let wall = Math.ceil(from / MINUTE) * MINUTE; wall < to; wall += MINUTE) {
    const date = new Date(wall);
    const isDay = months.has(date.getUTCMonth() + 1) && days.has(date.getUTCDate()) && weekdays.has(date.getUTCDay());
    if (isDay && hours.has(date.getUTCHours()) && minutes.has(date.getUTCMinutes())) found.push(wall);
  }
  return found;
}

function daysOf(from: Wall, to: Wall): readonly SkippedHours[] {
  const found = new Map<string, SkippedHours & { readonly hours: number[] }>();
  for (let wall = from; wall < to; wall += HOUR) {
    const date = new Date(wall);
    const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth() + 1, date.getUTCDate()];
    const one = found.get(dateOf(wall)) ?? { year, month, day, hours: [] };
    one.hours.push(date.getUTCHours());
    found.set(dateOf(wall), one);
  }
  return [...found.values()];
}

const dateOf = (wall: Wall): string => new Date(wall).toISOString().slice(0, 10);

/** No zone changes its clock twice within it. */
const STEP = 14 * DAY;

/**
 * By zone and year: each takes some milliseconds to find, and lists ask for them again and again.
 */
const known = new RecentMap<string, readonly Shift[]>(1_000);

function shiftsOf(timeZone: string, from: number, to: number): readonly Shift[] {
  const found: Shift[] = [];
  for (let year = new Date(from).getUTCFullYear(); Date.UTC(year, 0) < to; year += 1) {
    const key = `${timeZone} ${year}`;
    const shifts = known.get(key) ?? shiftsIn(timeZone, Date.UTC(year, 0), Date.UTC(year + 1, 0));
    known.set(key, shifts);
    found.push(...shifts);
  }
  return found.filter(({ at }) => at >= from && at < to);
}

function shiftsIn(timeZone: string, from: number, to: number): readonly Shift[] {
  const offset = offsetsOf(timeZone);
  const found: Shift[] = [];
  let before = offset(from);
  for (let time = from; time < to; time += STEP) {
    const after = offset(time + STEP);
    const at = before === after ? to : firstWith(offset, after, time, time + STEP);
    if (at < to) found.push({ at, before, after });
    before = after;
  }
  return found;
}

/** The whole second from which on the zone is as it is at `late`. */
function firstWith(offset: (time: number) => number, after: number, early: number, late: number): number {
  let [before, from] = [Math.floor(early / SECOND), Math.ceil(late / SECOND)];
  while (from - before > 1) {
    const middle = Math.floor((before + from) / 2);
    if (offset(middle * SECOND) === after) from = middle;
    else before = middle;
  }
  return from * SECOND;
}

/** How far the zone's clock is ahead of UTC at a time. */
function offsetsOf(timeZone: string): (time: number) => number {
  const format = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' });
  return (time) => {
    const [, sign = '+', hours = '0', minutes = '0', seconds = '0'] =
      /GMT([+-])(\d\d):(\d\d)(?::(\d\d))?$/.exec(format.format(time)) ?? [];
    const size = Number(hours) * HOUR + Number(minutes) * MINUTE + Number(seconds) * SECOND;
    return sign === '-' ? -size : size;
  };
}
