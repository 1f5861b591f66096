// Changes an existing schedule: when it fires, its task, and the options of its runs. What its memo
// said at creation cannot be changed; the argument of its firings repeats it.
import type { ScheduleDescription } from '@temporalio/client';
import type { ScheduledInput } from '../../workflows/contract/schedules/firing.ts';
import { present } from '../../workflows/contract/present.ts';
import type { OptionChanges } from '../../workflows/contract/session.ts';
import type { Abortable } from '../async.ts';
import { ClientProblem } from '../problem.ts';
import type { ClientOptions } from '../sessions/start.ts';
import { type OverlapPolicy, type Plan, planSchedule, SCHEDULE_TAG, type ScheduleFacts } from './plan.ts';

/** An absent field stays as it is; an option that is null goes back to what the workers say. */
export type ScheduleChanges = Abortable & {
  readonly cron?: string;
  readonly task?: string;
  readonly timeZone?: string;
  readonly overlap?: OverlapPolicy;
  readonly catchUpMs?: number;
  readonly options?: OptionChanges;
};

/** Names what can be changed; the command line and HTTP take each of these. */
export const CHANGEABLE = [
  'cron',
  'task',
  'timeZone',
  'overlap',
  'catchUpMs',
  'options',
] as const satisfies readonly Exclude<keyof ScheduleChanges, keyof Abortable>[];

/** All that a schedule was made of. */
export type ScheduleSettings = ScheduleFacts & {
  readonly task: string;
  readonly catchUpMs: number;
  /** Options of its runs; without the tag that the schedule itself gives. */
  readonly options: OptionChanges;
};

export function settingsOf(description: ScheduleDescription, facts: ScheduleFacts): ScheduleSettings {
  const input = inputOf(description);
  const options = input.kind === 'open' ? input.input.options : (input.options ?? {});
  return {
    ...facts,
    task: input.body.kind === 'text' ? input.body.text : '',
    catchUpMs: description.policies.catchupWindow,
    options: withoutTag(options),
  };
}

function inputOf({ action }: ScheduleDescription): ScheduledInput {
  const [input] = (action.args ?? []) as readonly (ScheduledInput | undefined)[];
  if (input?.body === undefined) throw new ClientProblem('refused', 'what this schedule sends cannot be read');
  return input;
}

function withoutTag({ tags, ...options }: OptionChanges): OptionChanges {
  if (tags === null) return { ...options, tags };
  const { [SCHEDULE_TAG]: _, ...others } = tags ?? {};
  return { ...options, ...(Object.keys(others).length > 0 && { tags: others }) };
}

/** Plans the schedule anew. Throws ClientProblem for what no schedule could be made with. */
export async function planChange(
  client: ClientOptions,
  name: string,
  description: ScheduleDescription,
  { now, changes }: { readonly now: ScheduleSettings; readonly changes: ScheduleChanges },
): Promise<Plan> {
  const { cron = now.cron, task = now.task, timeZone = now.timeZone, catchUpMs = now.catchUpMs } = changes;
  const { taskQueue } = description.action;
  // A session of its own without a mode was made to have that of its worker. An open session is
  // told of a null with each firing.
  const mode = now.session === null ? { permissionMode: null } : {};
  const options: OptionChanges = { ...mode, ...now.options, ...present(changes.options ?? {}) };
  const overlap = changes.overlap ?? now.overlap ?? undefined;
  const into =
    now.session === null ? { workers: { taskQueue, configuration: now.configuration } } : { session: now.session };
  return planSchedule(client, {
    cron,
    task,
    given: present({ ...options, ...into, name, timeZone, catchUpMs, overlap }),
  });
}
