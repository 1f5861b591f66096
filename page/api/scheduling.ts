// Operations on schedules (L87).
import { createHash } from 'node:crypto';
import type { z } from 'zod';
import { present } from '../../client/faces/basics.ts';
import { ClientProblem } from '../../client/faces/start.ts';
import type { ScheduleInfo } from '../../client/faces/types.ts';
import { type ApiRequest, checkRunOptions, getRoute, type Route, postRoute } from './route.ts';
import { nothing } from '../../client/operations/operation.ts';
import * as shapes from './schemas.ts';

/** Most schedules in one answer. */
const MOST = 200;

const says = {
  pause: 'It fires no more until it is resumed; sessions that are under way go on.',
  resume: 'It fires again.',
  delete: 'Deletes it; its sessions stay.',
} as const;

export const scheduling: readonly Route[] = [
  getRoute(
    { name: 'listSchedules', path: '/schedules', says: `Schedules, at most ${MOST}.`, answer: shapes.schedules },
    nothing,
    listPage,
  ),
  getRoute(
    {
      name: 'describeSchedule',
      path: '/schedules/{schedule}',
      says: 'When it fires, and the sessions of its newest firings.',
      answer: shapes.scheduled,
    },
    nothing,
    ({ ports, schedule, signal }) => ports.schedules.describe(schedule, { signal }),
  ),
  postRoute(
    {
      name: 'createSchedule',
      path: '/schedules',
      role: 'steer',
      status: 201,
      says: 'Runs a task at the times of a cron expression, each time in a session of its own or as the next prompt of one.',
      answer: shapes.scheduled,
    },
    shapes.schedule,
    createOnce,
  ),
  postRoute(
    {
      name: 'updateSchedule',
      path: '/schedules/{schedule}/update',
      role: 'steer',
      says: 'Changes what is given, from its next firing on; an option that is null is as the workers say. Sessions under way go on.',
      answer: shapes.scheduled,
    },
    shapes.scheduleChanges,
    ({ acting, schedule, signal }, { options, ...changes }) =>
      acting.schedules.update(schedule, present({ ...changes, options: options && checkRunOptions(options), signal })),
  ),
  ...(['pause', 'resume', 'delete'] as const).map((name) =>
    postRoute(
      {
        name: `${name}Schedule`,
        path: `/schedules/{schedule}/${name}`,
        role: 'steer',
        says: says[name],
        answer: shapes.onSchedule,
      },
      nothing,
      async ({ acting, schedule, signal }) => {
        await acting.schedules[name](schedule, { signal });
        return { schedule };
      },
    ),
  ),
  postRoute(
    {
      name: 'triggerSchedule',
      path: '/schedules/{schedule}/trigger',
      role: 'steer',
      says: 'Fires now, by its overlap policy. Sent again it fires again.',
      answer: shapes.triggered,
    },
    nothing,
    ({ acting, schedule, signal }) => acting.schedules.trigger(schedule, { signal }),
  ),
];

async function listPage({ ports, signal }: ApiRequest): Promise<object> {
  const found: ScheduleInfo[] = [];
  for await (const one of ports.schedules.list({ signal })) {
    if (found.length === MOST) return { schedules: found, more: true };
    found.push(one);
  }
  return { schedules: found, more: false };
}

/**
 * With a key and without a name, derives the schedule's name from the key, so that a retry finds
 * what the first try made.
 */
async function createOnce(
  { acting, by, key, signal }: ApiRequest,
  { cron, task, name, options = {}, ...settings }: z.infer<typeof shapes.schedule>,
): Promise<object> {
  const derivedName = name === undefined && key !== undefined ? nameOf(by, key) : undefined;
  const named = present({ ...checkRunOptions(options), ...settings, name: name ?? derivedName, signal });
  try {
    return await acting.schedules.create(cron, task, named);
  } catch (error) {
    if (derivedName === undefined || !(error instanceof ClientProblem) || error.kind !== 'refused') throw error;
    return await acting.schedules.describe(derivedName, { signal }).catch(() => {
      throw error;
    });
  }
}

function nameOf(by: string, key: string): string {
  const digest = createHash('sha256')
    .update(JSON.stringify([by, key]))
    .digest('hex');
  return `sched-${digest.slice(0, 20)}`;
}
