// Schedules: what may be set and changed, and the times of a cron line.
export { CHANGEABLE } from '../schedules/change-schedule.ts';
export { offsetsOf } from '../schedules/clock-changes.ts';
export { cronProblem, namesBothDays, readCron, timeZoneProblem } from '../schedules/cron.ts';
export { overlapPolicies } from '../schedules/plan.ts';
