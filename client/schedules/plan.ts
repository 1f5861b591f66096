// Checks the parts of a schedule and prepares the argument of its firings (L87). A schedule fires
// without a person watching, so anything that a run could not open with is refused first.
import { schemaProblem } from '../../system/schema/json-schema.ts';
import { isScheduleName, type ScheduledInput } from '../../workflows/contract/schedules/firing.ts';
import type { MessageBody } from '../../workflows/contract/people.ts';
import { optionsProblem, withChanges } from '../../workflows/contract/options-problem.ts';
import {
  CONFIGURATION_KEY,
  type Configuration,
  type OptionChanges,
  type RunOptions,
  TASK_QUEUE,
} from '../../workflows/contract/session.ts';
import type { ForWorkers } from '../../workflows/contract/task-queue.ts';
import { modelProblem } from '../../models/find-model.ts';
import type { Abortable } from '../async.ts';
import { ClientProblem } from '../problem.ts';
import { STORE_KEY } from '../sessions/info.ts';
import { parseSessionId, newSessionId } from '../sessions/ids.ts';
import { promptProblem, titleOf } from '../sessions/prompt.ts';
import { sessionClosedProblem } from '../sessions/send.ts';
import { findWrongOption } from '../sessions/message.ts';
import { type ClientOptions, describeOwnSession, sessionInput } from '../sessions/start.ts';
import { type ClockPlan, planClockChanges } from './clock-changes.ts';
import { asServersSpell, cronProblem, timeZoneProblem } from './cron.ts';
import { present } from '../../workflows/contract/present.ts';

export const overlapPolicies = ['skip', 'buffer-one', 'buffer-all', 'cancel-other', 'allow-all'] as const;

/** Decides about a firing that is due while the one before still runs. */
export type OverlapPolicy = (typeof overlapPolicies)[number];

/**
 * Options of a schedule and of its runs. Without `session` each firing opens its own session, in
 * mode `dontAsk` unless another is given.
 */
export type ScheduleOptions = OptionChanges &
  Abortable & {
    /** Letters, digits, "-" and "_", at most 60. Absent: a name is made. */
    readonly name?: string;
    /** An open session that gets the task as its next prompt at each firing. */
    readonly session?: string;
    /** A name such as Europe/Berlin. Absent: UTC. */
    readonly timeZone?: string;
    /** Absent: `skip`. Not allowed with `session`, whose prompts wait for each other. */
    readonly overlap?: OverlapPolicy;
    /**
     * Milliseconds after its time during which a firing that was missed while no server ran is made
     * up for. Absent: a day.
     */
    readonly catchUpMs?: number;
    /** Workers for the sessions; absent: those of the client's task queue. */
    readonly workers?: ForWorkers;
  };

/** Facts of a schedule that lists show. */
export type ScheduleFacts = {
  readonly cron: string;
  readonly timeZone: string;
  readonly title: string;
  /** The session that it sends prompts to; null where each firing opens its own. */
  readonly session: string | null;
  /** Policy for firings that meet; null when it sends prompts to a session. */
  readonly overlap: OverlapPolicy | null;
  readonly configuration: Configuration | null;
};

export type Plan = {
  readonly name: string;
  readonly clock: ClockPlan;
  readonly catchUpMs: number;
  readonly input: ScheduledInput;
  readonly facts: ScheduleFacts;
  readonly taskQueue: string;
};

type ScheduleRequest = { readonly cron: string; readonly task: string; readonly given: ScheduleOptions };

const DAY_MS = 86_400_000;
const LEAST_CATCH_UP = 10_000;
const CATCH_UP = DAY_MS;
const MOST_CATCH_UP = 365 * DAY_MS;

/**
 * Bytes of JSON. The server keeps the task with the schedule, where no gc of a store can remove it.
 */
const LONGEST_TASK = 16 * 1024;

/** The tag by which lists find its sessions. */
export const SCHEDULE_TAG = 'schedule';

/** Throws ClientProblem for options that are not acceptable. */
export async function planSchedule(
  client: ClientOptions,
  { cron, task, given: requested }: ScheduleRequest,
): Promise<Plan> {
  const { name: requestedName, session, timeZone: zone = 'UTC', overlap = 'skip', workers, ...others } = requested;
  const { catchUpMs = CATCH_UP, signal: _, ...changes } = others;
  const name = parseScheduleName(requestedName ?? newSessionId().replace(/^s-/, 'sched-'));
  refuse(cronProblem(cron) ?? timeZoneProblem(zone) ?? catchUpProblem(catchUpMs) ?? taskProblem(task));
  const timeZone = asServersSpell(zone);
  const body: MessageBody = { kind: 'text', text: task };
  const facts = { cron: cron.trim(), timeZone, title: titleOf(task) };
  const times = { name, clock: planClockChanges(cron, timeZone, Date.now()), catchUpMs };
  if (session !== undefined) {
    refuse(requested.overlap === undefined ? await findWrongOption(changes) : sessionConflict('an overlap policy'));
    refuse(workers === undefined ? undefined : sessionConflict('workers'));
    const there = await describeOwnSession(client, parseSessionId(session));
    if (there.status !== 'open') throw sessionClosedProblem(there);
    const { session: to, taskQueue, configuration } = there;
    const options = Object.keys(changes).length > 0 ? { options: changes } : {};
    const input = { kind: 'send', schedule: name, body, session: to, ...options } as const;
    return { ...times, input, facts: { ...facts, session: to, overlap: null, configuration }, taskQueue };
  }
  refuse(
    overlapPolicies.includes(overlap)
      ? undefined
      : `there is no overlap policy ${JSON.stringify(overlap)}: give ${overlapPolicies.join(', ')}`,
  );
  const { taskQueue, configuration } = workers ?? { taskQueue: client.taskQueue ?? TASK_QUEUE, configuration: null };
  const options = runOptions(name, changes);
  const input = await openInput(client, { name, body, title: facts.title, options, configuration });
  return { ...times, input, facts: { ...facts, session: null, overlap, configuration }, taskQueue };
}

function runOptions(name: string, changes: OptionChanges): RunOptions {
  const chosen = withChanges<Partial<RunOptions>>({}, { permissionMode: 'dontAsk', ...changes });
  const { tags = {} } = chosen;
  if (Object.hasOwn(tags, SCHEDULE_TAG)) refuse(`tag "${SCHEDULE_TAG}" is given by the schedule itself: leave it out`);
  const options: RunOptions = { cwd: process.cwd(), ...chosen, tags: { ...tags, [SCHEDULE_TAG]: name } };
  refuse(optionsProblem(options) ?? modelProblem(options) ?? schemaProblem(options.outputSchema));
  return options;
}

type Opening = {
  readonly name: string;
  readonly title: string;
  readonly body: MessageBody;
  readonly options: RunOptions;
  readonly configuration: Configuration | null;
};

async function openInput(client: ClientOptions, { name, title, body, options, configuration }: Opening) {
  const [own, store] = await Promise.all([sessionInput(client, options, title), client.storeId?.()]);
  const input: ScheduledInput = {
    kind: 'open',
    schedule: name,
    body,
    input: own,
    memo: {
      ...present({ [STORE_KEY]: store }),
      ...(configuration && { [CONFIGURATION_KEY]: configuration }),
    },
  };
  return input;
}

function refuse(problem: string | undefined): void {
  if (problem !== undefined) throw new ClientProblem('refused', problem);
}

/** Throws ClientProblem for a text that cannot name a schedule. */
export function parseScheduleName(name: string): string {
  const quoted = JSON.stringify(name.slice(0, 80));
  if (isScheduleName(name)) return name;
  const rule = 'use letters, digits, "-" and "_", begin with a letter or digit, at most 60';
  throw new ClientProblem('refused', `${quoted} is no name of a schedule: ${rule}`);
}

function catchUpProblem(ms: number): string | undefined {
  if (Number.isInteger(ms) && ms >= LEAST_CATCH_UP && ms <= MOST_CATCH_UP) return undefined;
  return `catch-up is ${typeof ms === 'number' ? `${ms} ms` : 'no number'}: give 10 s to 365 days, in whole milliseconds`;
}

function taskProblem(task: string): string | undefined {
  const bytes = Buffer.byteLength(JSON.stringify(task));
  if (bytes > LONGEST_TASK)
    return `the task has ${bytes} bytes: give a schedule at most ${LONGEST_TASK}, and put the rest into a file of the workspace that the task names`;
  return promptProblem(task);
}

const sessionConflict = (what: string): string =>
  `${what} and a session are given: its prompts wait for each other, and its workers are its own; leave one out`;
