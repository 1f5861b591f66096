// Schedules (L87): Temporal sends prompts at the times of a cron expression, without a process of
// ours, and the server alone knows everything about them.
import { present } from '../../workflows/contract/present.ts';
import { randomUUID } from 'node:crypto';
import {
  ScheduleAlreadyRunning,
  ScheduleClient,
  type ScheduleDescription,
  type ScheduleHandle,
  ScheduleNotFoundError,
  type ScheduleOptions as ScheduleOptionsOfServer,
  ScheduleOverlapPolicy,
  type ScheduleSpec,
  WorkflowFailedError,
} from '@temporalio/client';
import { z } from 'zod';
import {
  firingOf,
  SCHEDULED_TYPE,
  type ScheduledInput,
  scheduleId,
  scheduleName,
} from '../../workflows/contract/schedules/firing.ts';
import { planChange, type ScheduleChanges, type ScheduleSettings, settingsOf } from './change-schedule.ts';
import { profiles } from '../../workflows/contract/profiles.ts';
import { readGrpcFailure } from '../../connection/grpc-failure.ts';
import { createLimit } from '../../system/async.ts';
import type { Abortable } from '../async.ts';
import { ClientProblem } from '../problem.ts';
import { callUntilAnswered } from '../sessions/persist.ts';
import type { ClientOptions } from '../sessions/start.ts';
import { type ClockChange, clockChanges, YEAR } from './clock-changes.ts';
import { cronProblem, timeZoneProblem } from './cron.ts';
import { fireNow, type Firing, firingsOf, type Triggered } from './firings.ts';
import { isQueuePolled } from '../../connection/worker-polls.ts';
import {
  overlapPolicies,
  type OverlapPolicy,
  parseScheduleName,
  type Plan,
  planSchedule,
  type ScheduleFacts,
  type ScheduleOptions,
} from './plan.ts';

export type ScheduleInfo = ScheduleFacts & {
  readonly name: string;
  readonly paused: boolean;
  /** Why it was paused or resumed, where that is known. */
  readonly note?: string;
  /** Milliseconds since the epoch; null while it is paused. */
  readonly next: number | null;
  /** The next firings, at most ten, in milliseconds since the epoch; empty while it is paused. */
  readonly coming: readonly number[];
  /** The newest ten, newest first. */
  readonly firings: readonly Firing[];
  /**
   * Milliseconds after its time during which a firing that was missed while no server ran is made
   * up for.
   */
  readonly catchUpMs: number;
  /**
   * Days of the coming year on which the zone's clock leaves out or doubles times of it. It fires
   * once for each.
   */
  readonly clockChanges: readonly ClockChange[];
  /** Number of firings dropped because the one before still ran. */
  readonly skipped: number;
  /** True when a firing has begun and no worker polls for it. */
  readonly waitsForWorker: boolean;
  readonly taskQueue: string;
};

/**
 * Works on schedules and throws ClientProblem like the client's other methods. The methods need no
 * worker, but a firing does.
 */
export type Schedules = {
  /**
   * Creates a schedule. `cron` has five fields, such as `0 6 * * 1`, or is a word such as `@daily`.
   */
  create(cron: string, task: string, options?: ScheduleOptions): Promise<ScheduleInfo>;
  list(options?: Abortable): AsyncIterable<ScheduleInfo>;
  describe(name: string, options?: Abortable): Promise<ScheduleInfo>;
  /** All that it was made of, with its task and the options of its runs. */
  settings(name: string, options?: Abortable): Promise<ScheduleSettings>;
  /** Changes it from its next firing on; sessions under way go on as they are. */
  update(name: string, changes: ScheduleChanges): Promise<ScheduleInfo>;
  /** Stops firing until `resume`. Sessions under way go on. */
  pause(name: string, options?: Abortable): Promise<void>;
  resume(name: string, options?: Abortable): Promise<void>;
  /** Deletes the schedule. Its sessions stay and go on. */
  delete(name: string, options?: Abortable): Promise<void>;
  /** Fires now by its overlap policy, even while it is paused. */
  trigger(name: string, options?: Abortable): Promise<Triggered>;
};

const OVERLAPS: Readonly<Record<OverlapPolicy, ScheduleOverlapPolicy>> = {
  skip: ScheduleOverlapPolicy.SKIP,
  'buffer-one': ScheduleOverlapPolicy.BUFFER_ONE,
  'buffer-all': ScheduleOverlapPolicy.BUFFER_ALL,
  'cancel-other': ScheduleOverlapPolicy.CANCEL_OTHER,
  'allow-all': ScheduleOverlapPolicy.ALLOW_ALL,
};

/** Most of the next firings that are told. */
const COMING = 10;

const MEMO_KEY = 'perdureSchedule';
const memoSchema = z.object({
  cron: z.string(),
  timeZone: z.string(),
  title: z.string(),
  session: z.string().nullable(),
  overlap: z.enum(overlapPolicies).nullable(),
  configuration: z.object({ name: z.string().optional(), file: z.string().optional() }).nullable(),
  /**
   * Clock changes are planned up to here, in milliseconds since the epoch; absent: they are not.
   */
  clocksUntil: z.number().optional(),
});
type Memo = ScheduleFacts & { readonly clocksUntil?: number };
/** Any client can write a memo, so a foreign shape shows nothing rather than fails. */
const noFacts: Memo = { cron: '', timeZone: '', title: '', session: null, overlap: null, configuration: null };

export function createSchedules(client: ClientOptions): Schedules {
  const { temporal, by: person = 'a person' } = client;
  const server = (): ScheduleClient => {
    const { namespace, identity, loadedDataConverter } = temporal.options;
    return new ScheduleClient({
      connection: temporal.connection,
      namespace,
      identity,
      dataConverter: loadedDataConverter,
    });
  };
  const reach = async <T>(name: string, call: (handle: ScheduleHandle) => Promise<T>): Promise<T> => {
    const handle = server().getHandle(scheduleId(parseScheduleName(name)));
    try {
      return await callUntilAnswered(temporal, `reach schedule ${name}`, () => call(handle));
    } catch (error) {
      throw error instanceof ScheduleNotFoundError ? noSchedule(name) : error;
    }
  };
  const describeSchedule = (name: string): Promise<ScheduleDescription> => reach(name, (handle) => handle.describe());
  const fire = fireNow(client, targetOf);
  const info = async (name: string): Promise<ScheduleInfo> => infoOf(client, name, await describeSchedule(name));
  return {
    create: async (cron, task, options = {}) => {
      const plan = await planSchedule(client, { cron, task, given: options });
      await createOnce(client, server(), plan);
      return info(plan.name);
    },
    list: async function* () {
      for await (const { scheduleId: id, action } of server().list()) {
        const name = scheduleName(id);
        if (name === null || action?.workflowType !== SCHEDULED_TYPE) continue;
        const found = await infoUnlessGone(() => info(name));
        if (found) yield found;
      }
    },
    describe: info,
    settings: async (name) => {
      const description = await describeSchedule(name);
      return settingsOf(description, factsOf(description));
    },
    update: (name, changes) =>
      changesOf(temporal)(async () => {
        const description = await describeSchedule(name);
        const plan = await planChange(client, name, description, {
          now: settingsOf(description, factsOf(description)),
          changes,
        });
        const { facts, clock } = plan;
        const input = { ...plan.input, about: { ...facts, clocksUntil: clock.until } };
        try {
          await reach(name, (handle) =>
            handle.update(({ state }) => ({ ...schedulePartsOf(client, { ...plan, input }), state })),
          );
        } catch (error) {
          refuseUnknownZone(error, facts);
          throw error;
        }
        return info(name);
      }),
    pause: (name) => reach(name, (handle) => handle.pause(`paused by ${person}`)),
    resume: (name) => reach(name, (handle) => handle.unpause(`resumed by ${person}`)),
    delete: (name) => reach(name, (handle) => handle.delete()),
    trigger: (name, { signal = new AbortController().signal } = {}) => fire(name, () => describeSchedule(name), signal),
  };
}

type Limit = ReturnType<typeof createLimit>;
const limits = new WeakMap<object, Limit>();

/** Makes one change after the other: the server takes one whatever came since it was read. */
function changesOf({ connection }: ClientOptions['temporal']): Limit {
  const limit = limits.get(connection) ?? createLimit(1);
  limits.set(connection, limit);
  return limit;
}

/** Recognizes a schedule made by an earlier try whose answer was lost. */
async function createOnce(client: ClientOptions, server: ScheduleClient, plan: Plan): Promise<void> {
  const { temporal } = client;
  const { name, facts, clock } = plan;
  const token = randomUUID();
  const create = (): Promise<ScheduleHandle> =>
    server.create({
      scheduleId: scheduleId(name),
      ...schedulePartsOf(client, plan),
      memo: { [MEMO_KEY]: { ...facts, clocksUntil: clock.until, made: token } },
    });
  try {
    await callUntilAnswered(temporal, `create schedule ${name}`, create);
  } catch (error) {
    refuseUnknownZone(error, facts);
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
    const { memo } = await server.getHandle(scheduleId(name)).describe();
    if ((memo?.[MEMO_KEY] as { readonly made?: unknown } | undefined)?.made === token) return;
    throw new ClientProblem('refused', `schedule ${name} is here already: give another name, or delete it first`);
  }
}

function schedulePartsOf(
  { profile }: Pick<ClientOptions, 'profile'>,
  plan: Plan,
): Pick<ScheduleOptionsOfServer, 'spec' | 'action' | 'policies'> {
  const { name, input, facts, taskQueue, catchUpMs } = plan;
  return {
    spec: specOf(plan),
    action: {
      type: 'startWorkflow',
      workflowType: SCHEDULED_TYPE,
      workflowId: scheduleId(name),
      args: [input],
      taskQueue,
      staticSummary: facts.title,
      workflowTaskTimeout: profiles[profile ?? 'machine'].workflowTask,
    },
    policies: {
      // With a policy that lets all run at once the server does not see which fail.
      overlap: OVERLAPS[facts.overlap ?? 'buffer-one'],
      catchupWindow: catchUpMs,
      // A failure means that the session is closed and will not open again.
      pauseOnFailure: facts.session !== null,
    },
  };
}

/** The server has its own list of time zones, and its names are case-sensitive. */
function refuseUnknownZone(error: unknown, { timeZone }: ScheduleFacts): void {
  if (!/unknown time zone/i.test(readGrpcFailure(error).why)) return;
  throw new ClientProblem(
    'refused',
    `the Temporal server has no time zone ${JSON.stringify(timeZone)}: give a name as the tz database spells it, such as Europe/Berlin`,
    { cause: error },
  );
}

async function infoUnlessGone(look: () => Promise<ScheduleInfo>): Promise<ScheduleInfo | null> {
  try {
    return await look();
  } catch (error) {
    if (error instanceof ClientProblem && error.kind === 'no_schedule') return null;
    throw error;
  }
}

async function infoOf(
  { temporal }: ClientOptions,
  name: string,
  description: ScheduleDescription,
): Promise<ScheduleInfo> {
  const { state, info, action } = description;
  const { clocksUntil, ...facts } = memoOf(description);
  const { paused } = state;
  const note = await noteText(temporal, state.note ?? '');
  const { taskQueue } = action;
  const isWaiting = info.runningActions.length > 0 && !(await isQueuePolled({ temporal, taskQueue }).catch(() => true));
  return {
    ...facts,
    name,
    paused,
    ...present({ note: note || undefined }),
    next: paused ? null : (info.nextActionTimes[0]?.getTime() ?? null),
    coming: paused ? [] : info.nextActionTimes.slice(0, COMING).map((time) => time.getTime()),
    firings: firingsOf(description, facts.session),
    catchUpMs: description.policies.catchupWindow,
    clockChanges: changesToCome(facts, clocksUntil),
    skipped: info.numActionsSkippedOverlap,
    waitsForWorker: isWaiting,
    taskQueue,
  };
}

/** A schedule that was changed says so in its firings' argument, since its memo stays. */
function memoOf({ memo, action }: Pick<ScheduleDescription, 'memo' | 'action'>): Memo {
  const [input] = (action.args ?? []) as readonly (Partial<ScheduledInput> | undefined)[];
  const about = memoSchema.safeParse(input?.about).data ?? memoSchema.safeParse(memo?.[MEMO_KEY]).data;
  return (about ?? noFacts) as Memo;
}

function factsOf(description: ScheduleDescription): ScheduleFacts {
  const { clocksUntil: _, ...facts } = memoOf(description);
  return facts;
}

const targetOf = (description: ScheduleDescription): string | null => memoOf(description).session;

function changesToCome({ cron, timeZone }: ScheduleFacts, until = 0): readonly ClockChange[] {
  if ((cronProblem(cron) ?? timeZoneProblem(timeZone)) !== undefined) return [];
  const now = Date.now();
  return clockChanges(cron, timeZone, now, Math.min(now + YEAR, until));
}

/**
 * Explains why a failed firing paused the schedule. The server cannot read it, but the firing's own
 * result can, as long as it is kept.
 */
async function noteText(temporal: ClientOptions['temporal'], note: string): Promise<string> {
  const [, id = ''] = /^paused due to workflow failure: (\S+): /.exec(note) ?? [];
  if (firingOf(id) === null) return note;
  try {
    await temporal.workflow.getHandle(id).result();
  } catch (error) {
    if (error instanceof WorkflowFailedError && error.cause) return error.cause.message;
  }
  return 'its last firing failed';
}

function noSchedule(name: string): ClientProblem {
  return new ClientProblem('no_schedule', `no schedule ${name}: \`perdure schedule list\` shows those there are`);
}

/** Month names as Temporal spells them. */
const MONTHS = [
  ...(['JANUARY', 'FEBRUARY', 'MARCH', 'APRIL', 'MAY', 'JUNE', 'JULY', 'AUGUST', 'SEPTEMBER', 'OCTOBER'] as const),
  ...(['NOVEMBER', 'DECEMBER'] as const),
];

/**
 * Tells Temporal when a schedule fires: by its cron expression, and by what is planned for days on
 * which its zone's clock changes.
 */
function specOf({ facts, clock }: Pick<Plan, 'facts' | 'clock'>): ScheduleSpec {
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
