// Schedules: what may be set and changed, and the times of a cron line.
export { CHANGEABLE } from '../schedules/change-schedule.ts';
export { cronProblem, timeZoneProblem } from '../schedules/cron.ts';
export { overlapPolicies } from '../schedules/plan.ts';
