// Plans for days on which a zone's clock changes (L87): finds the schedule's times that the change
// leaves out or doubles, and makes the server fire once for each. The server passes over times that
// do not exist; some of its versions fire twice for a doubled time, or an hour off.
import { RecentMap } from '../../system/recent-map.ts';
import { type CronTimes, readCron } from './cron.ts';

export type ClockChange = {
  /** Date in the schedule's time zone: 2027-03-28. */
  readonly date: string;
  /** Effect of the change on the times. */
  readonly kind: 'left-out' | 'doubled';
  /** Times of the day in the schedule's time zone: 02:30. */
  readonly times: readonly string[];
  /** Moments at which it fires for them, in milliseconds since the epoch. */
  readonly fires: readonly number[];
};

/** Hours of a day, in the schedule's time zone, during which the cron expression does not apply. */
type SkippedHours = {
  readonly year: number;
  /** Month from 1. */
  readonly month: number;
  readonly day: number;
  readonly hours: readonly number[];
};

export type ClockPlan = {
  /** Additional moments at which it fires, in milliseconds since the epoch. */
  readonly moments: readonly number[];
  readonly skipped: readonly SkippedHours[];
  /** Clock changes are planned up to this moment. */
  readonly until: number;
};

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
export const YEAR = 366 * DAY;
const HORIZON = 10 * YEAR;
/** The server keeps each moment as a part of the schedule. */
const MOST_MOMENTS = 400;

/**
 * Plans ten years from `from`, in milliseconds since the epoch. Cron expression and time zone must
 * be valid.
 */
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

/** Returns the clock changes between `from` and `to` that leave out or double one of the times. */
export function clockChanges(cron: string, timeZone: string, from: number, to: number): readonly ClockChange[] {
  return shiftsOf(timeZone, from, to).flatMap((shift) => planShift(readCron(cron), shift).change ?? []);
}

/** A local time, written as the moment at which a UTC clock shows the same. */
type Wall = number;

/**
 * `at` is in milliseconds since the epoch. `before` and `after` tell how far the zone's clock is
 * ahead of UTC.
 */
type Shift = { readonly at: number; readonly before: number; readonly after: number };

type ShiftPlan = Omit<ClockPlan, 'until'> & { readonly change?: ClockChange };

const NO_PLAN: ShiftPlan = { moments: [], skipped: [] };

function planShift(times: CronTimes, shift: Shift): ShiftPlan {
  // An hourly schedule goes by the hours that pass, whatever the clock shows.
  if (times.hours.size === 24) return NO_PLAN;
  const { at, before, after } = shift;
  const isLeftOut = before < after;
  const [start, end] = isLeftOut ? [at + before, at + after] : [at + after, at + before];
  const touched = wallsOf(times, start, end);
  const hours = isLeftOut ? hoursSkippedAtGap(times, start, end) : hoursSkippedAtRepeat(times, start, end);
  // The server would leave out a moment that shows a skipped time, so it fires a second later.
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
 * If a day begins with a gap, the server gives it the weekday of the day before, so all of it is
 * planned.
 */
function hoursSkippedAtGap({ weekdays }: CronTimes, start: Wall, end: Wall): Range | null {
  const midnight = Math.ceil(start / DAY) * DAY;
  return midnight < end && weekdays.size < 7 ? [midnight, midnight + DAY] : null;
}

/** The server gets the hour before and the one after wrong, too. */
function hoursSkippedAtRepeat(times: CronTimes, start: Wall, end: Wall): Range | null {
  const from = Math.floor(start / HOUR) * HOUR - HOUR;
  return wallsOf(times, from, end).length > 0 ? [from, Math.ceil(end / HOUR) * HOUR + HOUR] : null;
}

/**
 * Follows RFC 5545: a time that is left out uses the clock before the change, and a doubled time
 * means the first.
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

/** Every zone leaves at least this long between two changes of its clock. */
const STEP = 14 * DAY;

/**
 * Shifts by zone and year. Finding them takes some milliseconds, and lists need them again and
 * again.
 */
const knownShifts = new RecentMap<string, readonly Shift[]>(1_000);

function shiftsOf(timeZone: string, from: number, to: number): readonly Shift[] {
  const found: Shift[] = [];
  for (let year = new Date(from).getUTCFullYear(); Date.UTC(year, 0) < to; year += 1) {
    const key = `${timeZone} ${year}`;
    const shifts = knownShifts.get(key) ?? shiftsIn(timeZone, Date.UTC(year, 0), Date.UTC(year + 1, 0));
    knownShifts.set(key, shifts);
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

/** Finds the first whole second at which the zone's offset is `after`. */
function firstWith(offset: (time: number) => number, after: number, early: number, late: number): number {
  let [before, from] = [Math.floor(early / SECOND), Math.ceil(late / SECOND)];
  while (from - before > 1) {
    const middle = Math.floor((before + from) / 2);
    if (offset(middle * SECOND) === after) from = middle;
    else before = middle;
  }
  return from * SECOND;
}

/** Returns a function that tells how many milliseconds the zone's clock is ahead of UTC. */
export function offsetsOf(timeZone: string): (time: number) => number {
  const format = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' });
  return (time) => {
    const [, sign = '+', hours = '0', minutes = '0', seconds = '0'] =
      /GMT([+-])(\d\d):(\d\d)(?::(\d\d))?$/.exec(format.format(time)) ?? [];
    const size = Number(hours) * HOUR + Number(minutes) * MINUTE + Number(seconds) * SECOND;
    return sign === '-' ? -size : size;
  };
}
