// The times of a deployment's schedule (G71): five fields of cron, held against the clock on the
// wall of a time zone. A time that the clock leaves out does not fire, and one that it shows twice
// fires twice. Pure.
import { cronProblem, namesBothDays, offsetsOf, readCron, timeZoneProblem } from '../../client/faces/schedules.ts';
import { invalid } from '../errors.ts';
import type { DeploymentItem } from '../log/stored.ts';

type Schedule = NonNullable<DeploymentItem['schedule']>;

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const HORIZON = 10 * 366 * DAY;
/** Milliseconds after its time at which a firing is made up for that no server saw. */
const CATCH_UP = DAY;

/** Throws ManagedError. */
export function checkSchedule({ expression, timezone }: Schedule): void {
  const isShortcut = expression.trim().startsWith('@');
  const problem = isShortcut ? 'shortcuts are not served: give five fields' : cronProblem(expression, true);
  if (problem !== undefined) throw invalid(`schedule.expression: ${problem}`, 'schedule.expression');
  const unknown = timeZoneProblem(timezone);
  if (unknown !== undefined) throw invalid(`schedule.timezone: ${unknown}`, 'schedule.timezone');
}

/** Lists when a schedule fires after `from`, in milliseconds since the epoch. */
export function* listFirings({ expression, timezone }: Schedule, from: number): Generator<number> {
  const { minutes, hours, days, weekdays, months } = readCron(expression);
  const isEither = namesBothDays(expression);
  const offset = offsetsOf(timezone);
  const times = [...hours].flatMap((hour) => [...minutes].map((minute) => hour * HOUR + minute * MINUTE));
  const isDay = (date: Date): boolean => {
    const [inMonth, inWeek] = [days.has(date.getUTCDate()), weekdays.has(date.getUTCDay())];
    return months.has(date.getUTCMonth() + 1) && (isEither ? inMonth || inWeek : inMonth && inWeek);
  };
  const first = Math.floor((from + offset(from)) / DAY) * DAY - DAY;
  for (let day = first; day < first + HORIZON; day += DAY) {
    if (!isDay(new Date(day))) continue;
    const offsets = new Set([offset(day - DAY), offset(day + 2 * DAY)]);
    const isPlain = offsets.size === 1;
    const moments = times.flatMap((time) => [...offsets].map((one) => ({ at: day + time - one, one })));
    const real = moments.filter(({ at, one }) => at > from && (isPlain || offset(at) === one));
    yield* real.map(({ at }) => at).toSorted((a, b) => a - b);
  }
}

/** Returns the first moment after `from`; null where ten years have none. */
export const nextFiring = (schedule: Schedule, from: number): number | null =>
  listFirings(schedule, from).next().value ?? null;

export function upcomingFirings(schedule: Schedule, from: number, count: number): readonly number[] {
  const found: number[] = [];
  for (const at of listFirings(schedule, from)) {
    found.push(at);
    if (found.length === count) break;
  }
  return found;
}

/** Returns the newest moment after `from` that is over and no day old: the others are left out. */
export function dueFiring(schedule: Schedule, from: number, now: number): number | null {
  let due: number | null = null;
  for (const at of listFirings(schedule, Math.max(from, now - CATCH_UP))) {
    if (at > now) break;
    due = at;
  }
  return due;
}
