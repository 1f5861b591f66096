// Reads the steps of a session from Temporal's history: when each was scheduled, when its last
// attempt began, on which worker, and why the attempt before died. Nothing is added to a history
// for this, and a history that the server has forgotten yields nothing.
import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { decodeArrayFromPayloads } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { z } from 'zod';
import { createLimit } from '../../../system/async.ts';
import { RecentMap } from '../../../system/recent-map.ts';
import type { SessionId } from '../../../workflows/contract/ids.ts';
import { sealingContextOf } from '../newest-head.ts';
import type { RunOptions } from '../../../workflows/contract/session.ts';

/** Times are in milliseconds since the epoch, by the server's clock. */
export type Step = {
  /** Name of the activity: callModel, runTool, … */
  readonly name: string;
  readonly run: number;
  /** The iteration; null for the opening and the end of a run. */
  readonly iteration: number | null;
  readonly askedAt: number;
  /** When the last attempt began; null when no worker has taken the step yet. */
  readonly beganAt: number | null;
  /** Milliseconds since the epoch; null while the step goes on. */
  readonly endedAt: number | null;
  readonly attempt: number;
  /** Identity of the process that made the last attempt. */
  readonly worker: string | null;
  /** Why the attempt before the last died. */
  readonly failure: string | null;
  /** That attempt never reported its end: its worker was killed, or lost. */
  readonly lost?: boolean;
  /**
   * Until when the attempt that was lost gave signs of life: its last heartbeat, or where that is
   * not known any longer, the earliest that it can have been.
   */
  readonly aliveUntil?: number;
  /** True when a person had decided about the call. */
  readonly decided: boolean;
  /** True when the workflow had carried the call out. */
  readonly delegated: boolean;
  /**
   * Numbers of calls of the iteration before that the workflow carried out and that this step
   * records.
   */
  readonly endsCalls: readonly number[];
};

/** Returns the steps between two moments, oldest first. With `to` null they reach until now. */
export type StepReader = (session: SessionId, from: number, to: number | null) => Promise<readonly Step[]>;

/** Number of finished executions whose steps are kept; each has some hundred. */
const MOST_KEPT = 100;
/** Most executions of one session to look at. */
const MOST_EXECUTIONS = 2_000;
const TOGETHER = 4;
/** Steps of which a lost attempt's last sign is remembered. */
const MOST_SIGNS = 1_000;
/** Allowance for clocks of server and workers that differ. */
const MARGIN_MS = 60_000;
const LONGEST_FAILURE = 300;

type Description = Awaited<ReturnType<ReturnType<Client['workflow']['getHandle']>['describe']>>;
type Execution = { readonly runId: string; readonly from: number; readonly to: number | null };

export function stepReader(client: Client): StepReader {
  const cache = new RecentMap<string, Promise<readonly KeyedStep[]>>(MOST_KEPT);
  // A history does not keep heartbeats, so that what was seen of them is remembered.
  const signs = new RecentMap<string, number>(MOST_SIGNS);
  const few = createLimit(TOGETHER);
  const stepsIn = (session: SessionId, { runId, to }: Execution): Promise<readonly KeyedStep[]> => {
    const known = cache.get(runId);
    if (known) return known;
    const reading = few(() => readExecution(client, session, runId));
    if (to !== null) cache.set(runId, reading);
    reading.catch(() => cache.delete(runId));
    return reading;
  };
  return async (session, from, to) => {
    const described = await client.workflow.getHandle(session).describe();
    const those = (await listExecutions(client, session, described)).filter(
      (one) => (one.to === null || one.to > from - MARGIN_MS) && (to === null || one.from < to + MARGIN_MS),
    );
    const steps = (await Promise.all(those.map((one) => stepsIn(session, one)))).flat();
    const pending = new Map((described.raw.pendingActivities ?? []).map((one) => [one.activityId, one]));
    return Promise.all(
      steps.map(async ({ id, heartbeatMs, ...step }) => {
        const known =
          step.endedAt === null
            ? await withPending(step, pending.get(id), (failure) => whyOf(client, session, id, failure))
            : step;
        if (known.lost !== true) return known;
        const key = `${session} ${id} ${step.askedAt}`;
        const sign = signOfLoss(known, pending.get(id)) ?? signs.get(key);
        if (sign !== undefined) signs.set(key, sign);
        return { ...known, ...aliveUntil(known, heartbeatMs, sign) };
      }),
    );
  };
}

/**
 * Lists all runs of the workflow. The newest comes from its description, since a list may not have
 * it yet.
 */
async function listExecutions(client: Client, session: SessionId, newest: Description): Promise<readonly Execution[]> {
  const found: Execution[] = [];
  for await (const one of client.workflow.list({ query: `WorkflowId = '${session}'`, pageSize: 500 })) {
    if (found.length === MOST_EXECUTIONS) break;
    if (one.runId === newest.runId) continue;
    found.push({ runId: one.runId, from: one.startTime.getTime(), to: one.closeTime?.getTime() ?? null });
  }
  const { runId, startTime, closeTime } = newest;
  return [...found.toReversed(), { runId, from: startTime.getTime(), to: closeTime?.getTime() ?? null }];
}

/** `heartbeatMs`: an attempt that gave no sign for so long is lost. */
type KeyedStep = Step & { readonly id: string; readonly heartbeatMs: number };
export type Pending = NonNullable<Description['raw']['pendingActivities']>[number];

/**
 * Adds what only the description knows: the history of an unfinished activity says just that it was
 * scheduled.
 */
async function withPending(
  step: Step,
  pending: Pending | undefined,
  why: (failure: AttemptFailure) => Promise<string | null>,
): Promise<Step> {
  if (!pending) return step;
  return {
    ...step,
    beganAt: pending.lastStartedTime && !isBackingOff(pending) ? timeOf(pending.lastStartedTime) : null,
    attempt: pending.attempt ?? 1,
    worker: pending.lastWorkerIdentity || null,
    failure: await why(pending.lastFailure),
    ...(isLost(pending.lastFailure) && { lost: true }),
  };
}

/** The last heartbeat of the attempt before this one; undefined when this one has had its own. */
function signOfLoss({ beganAt }: Step, pending: Pending | undefined): number | undefined {
  const sign = timeOf(pending?.lastHeartbeatTime);
  return sign > 0 && (beganAt === null || sign < beganAt) ? sign : undefined;
}

function aliveUntil(
  { beganAt, askedAt }: Step,
  heartbeatMs: number,
  sign: number | undefined,
): Pick<Step, 'aliveUntil'> {
  if (sign !== undefined) return { aliveUntil: Math.max(askedAt, sign) };
  return beganAt === null || heartbeatMs === 0 ? {} : { aliveUntil: Math.max(askedAt, beganAt - heartbeatMs) };
}

type AttemptFailure = Pending['lastFailure'];

/** An attempt whose worker is gone ends by a timeout; one that failed says so itself. */
const isLost = (failure: AttemptFailure): boolean => failure?.timeoutFailureInfo != null;

const sealedCause = z.object({ message: z.string() });

/**
 * Reads why an attempt failed. Workers seal the message of a failure beside it, and what stands in
 * its place says only that it is sealed.
 */
export async function whyOf(
  client: Client,
  session: SessionId,
  activity: string,
  failure: AttemptFailure,
): Promise<string | null> {
  if (!failure) return null;
  const { encodedAttributes, message } = failure;
  if (!encodedAttributes) return message?.slice(0, LONGEST_FAILURE) ?? null;
  const cause = sealedCause.safeParse(await decodePayload(client, session, activity, [encodedAttributes])).data;
  return cause?.message.slice(0, LONGEST_FAILURE) ?? 'the cause is sealed with a key that is not here';
}

/** Tells whether the last attempt is over and the next has not begun. */
export const isBackingOff = ({ lastStartedTime, scheduledTime }: Pending): boolean =>
  scheduledTime != null && timeOf(scheduledTime) > timeOf(lastStartedTime);

async function readExecution(client: Client, session: SessionId, runId: string): Promise<readonly KeyedStep[]> {
  try {
    const { events } = await client.workflow.getHandle(session, runId).fetchHistory();
    return await stepsOf(client, session, events ?? []);
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return [];
    throw error;
  }
}

export type HistoryEvent = NonNullable<
  Awaited<ReturnType<ReturnType<Client['workflow']['getHandle']>['fetchHistory']>>['events']
>[number];

const carried = z.object({ carry: z.object({ runs: z.number() }).optional() });
const ending = z.looseObject({ ended: z.looseObject({ step: z.number() }).optional() });
const stepInput = z.looseObject({
  run: z.number().optional(),
  iteration: z.number().optional(),
  decision: z.unknown().optional(),
  delegated: z.unknown().optional(),
  append: z.array(z.looseObject({ items: z.array(ending).optional() })).optional(),
});

async function stepsOf(
  client: Client,
  session: SessionId,
  events: readonly HistoryEvent[],
): Promise<readonly KeyedStep[]> {
  const steps = new Map<string, KeyedStep>();
  const change = (scheduledEventId: unknown, more: Partial<Step>): void => {
    const known = steps.get(String(scheduledEventId));
    if (known) steps.set(String(scheduledEventId), { ...known, ...more });
  };
  let run = 0;
  for (const event of events) {
    const { activityTaskScheduledEventAttributes: scheduled, activityTaskStartedEventAttributes: started } = event;
    if (event.workflowExecutionStartedEventAttributes) {
      const { input } = event.workflowExecutionStartedEventAttributes;
      run = carried.safeParse(await decodePayload(client, session, null, input?.payloads)).data?.carry?.runs ?? 0;
    } else if (scheduled) {
      const id = scheduled.activityId ?? '';
      const input = stepInput.safeParse(await decodePayload(client, session, id, scheduled.input?.payloads)).data ?? {};
      const name = (scheduled.activityType?.name ?? '').replace(/^perdure\./, '');
      if (name === 'openRun') run = input.run ?? run;
      steps.set(
        String(event.eventId),
        newStep(
          { id, name, run, askedAt: timeOf(event.eventTime), heartbeatMs: timeOf(scheduled.heartbeatTimeout) },
          input,
        ),
      );
    } else if (started) {
      change(started.scheduledEventId, {
        beganAt: timeOf(event.eventTime),
        attempt: started.attempt ?? 1,
        worker: started.identity || null,
        failure: await whyOf(
          client,
          session,
          steps.get(String(started.scheduledEventId))?.id ?? '',
          started.lastFailure,
        ),
        ...(isLost(started.lastFailure) && { lost: true }),
      });
    } else {
      const end = endOf(event);
      if (end) change(end.scheduledEventId, { endedAt: timeOf(event.eventTime) });
    }
  }
  return [...steps.values()];
}

function newStep(
  facts: Pick<KeyedStep, 'id' | 'name' | 'run' | 'askedAt' | 'heartbeatMs'>,
  { iteration, decision, delegated, append = [] }: z.infer<typeof stepInput>,
): KeyedStep {
  return {
    ...facts,
    iteration: iteration ?? null,
    beganAt: null,
    endedAt: null,
    attempt: 1,
    worker: null,
    failure: null,
    decided: decision !== undefined,
    delegated: delegated !== undefined,
    endsCalls: append.flatMap(({ items = [] }) => items.flatMap(({ ended: end }) => end?.step ?? [])),
  };
}

const endOf = (event: HistoryEvent) =>
  event.activityTaskCompletedEventAttributes ??
  event.activityTaskFailedEventAttributes ??
  event.activityTaskTimedOutEventAttributes ??
  event.activityTaskCanceledEventAttributes;

async function decodePayload(
  client: Client,
  session: SessionId,
  activity: string | null,
  payloads: Parameters<typeof decodeArrayFromPayloads>[1],
): Promise<unknown> {
  const [value] = await decodeArrayFromPayloads(
    client.options.loadedDataConverter,
    payloads,
    sealingContextOf(client, session, activity),
  );
  return value;
}

type Time = { readonly seconds?: unknown; readonly nanos?: number | null } | null | undefined;

export const timeOf = (time: Time): number => Number(time?.seconds ?? 0) * 1_000 + (time?.nanos ?? 0) / 1_000_000;

const started = z.looseObject({ options: z.looseObject({ cwd: z.string() }) });

/**
 * Returns null when the server no longer has the beginning, or another client began the session.
 */
export async function readStartOptions(client: Client, session: SessionId): Promise<RunOptions | null> {
  const { events } = await client.workflow.getHandle(session).fetchHistory();
  const input = events?.[0]?.workflowExecutionStartedEventAttributes?.input;
  const [value] = await decodeArrayFromPayloads(
    client.options.loadedDataConverter,
    input?.payloads,
    sealingContextOf(client, session, null),
  );
  return (started.safeParse(value).data?.options as RunOptions | undefined) ?? null;
}
