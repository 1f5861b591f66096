// Tells Temporal when a schedule fires: by its cron expression, and by what is planned for days on
// which its zone's clock changes.
import type { ScheduleSpec } from '@temporalio/client';
import { YEAR } from './clock-changes.ts';
import type { Plan } from './plan.ts';

/** Month names as Temporal spells them. */
const MONTHS = [
  ...(['JANUARY', 'FEBRUARY', 'MARCH', 'APRIL', 'MAY', 'JUNE', 'JULY', 'AUGUST', 'SEPTEMBER', 'OCTOBER'] as const),
  ...(['NOVEMBER', 'DECEMBER'] as const),
];

export function specOf({ facts, clock }: Pick<Plan, 'facts' | 'clock'>): ScheduleSpec {
  return {
    cronExpressions: [facts.cron],
    timezone: facts.timeZone,
    intervals: clock.moments.map(onceAt),
    skip: clock.skipped.map(({ year, month, day, hours }) => ({
      year,
      month: MONTHS[month - 1] ?? [],
      dayOfMonth: day,
      hour: [...hours],
      minute: '*',
      comment: 'the clock is changed: what is due then stands among the intervals',
    })),
  };
}

/**
 * An interval that fires once in these years. A server counts intervals from the epoch and passes
 * over the first.
 */
const ONCE_MS = 50 * YEAR;
const onceAt = (at: number): { readonly every: number; readonly offset: number } => ({
  every: ONCE_MS,
  offset: at % ONCE_MS,
});
