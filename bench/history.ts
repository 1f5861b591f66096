// Reads what workflows left in their histories from the server: events, bytes and times.
import type { Client } from '@temporalio/client';
import proto, { type temporal } from '@temporalio/proto';

/** `from` and `to` in milliseconds since the epoch. */
export type Turn = { readonly events: number; readonly bytes: number; readonly from: number; readonly to: number };

type Event = temporal.api.history.v1.IHistoryEvent;

/**
 * Splits all events of a workflow, over its whole chain of runs, at each activity of type `opens`:
 * one opens one turn.
 */
export async function turnsOf(client: Client, workflowId: string, opens: string, every: number): Promise<Turn[]> {
  const events = await chain(client, workflowId);
  const opening = events.flatMap((event, at) => (opened(event) === opens ? [at] : []));
  const starts = opening.filter((_, n) => n % every === 0);
  return starts.slice(0, -1).map((first, n) => {
    const next = starts[n + 1] ?? first;
    const turn = events.slice(first, next);
    const bytes = turn.reduce(
      (sum, event) => sum + proto.temporal.api.history.v1.HistoryEvent.encode(event).finish().length,
      0,
    );
    return { events: turn.length, bytes, from: timeOf(events[first]), to: timeOf(events[next]) };
  });
}

/** Milliseconds from the first event of any of them to the last of any. */
export async function wallOf(client: Client, workflowIds: readonly string[]): Promise<number> {
  const times: number[] = [];
  for (const id of workflowIds) times.push(...(await chain(client, id)).map(timeOf));
  return times.reduce((a, b) => Math.max(a, b)) - times.reduce((a, b) => Math.min(a, b));
}

/**
 * Milliseconds from a parent's decision to start each of its children to the first activity of type
 * `first` that the child asks for.
 */
export async function startsOf(client: Client, parent: string, first: string): Promise<readonly Started[]> {
  const starts: Started[] = [];
  for (const event of await chain(client, parent)) {
    const child = event.startChildWorkflowExecutionInitiatedEventAttributes?.workflowId;
    if (!child) continue;
    const scheduled = (await chain(client, child)).find((each) => opened(each) === first);
    starts.push({ child, ms: timeOf(scheduled) - timeOf(event) });
  }
  return starts;
}

export type TaskTimes = {
  /** Workflow tasks that a worker had and did not complete in their time. */
  readonly lost: number;
  /** Those that the worker that holds the session did not take in time, so that any might. */
  readonly moved: number;
  /** Milliseconds that each completed one took from the moment a worker had it. */
  readonly taskMs: readonly number[];
};

/** TIMEOUT_TYPE_START_TO_CLOSE */
const START_TO_CLOSE: unknown = 1;

/** Reads what became of workflow tasks between two times, in milliseconds since the epoch. */
export async function taskTimes(
  client: Client,
  workflowIds: readonly string[],
  from: number,
  to: number,
): Promise<TaskTimes> {
  const found = { lost: 0, moved: 0, taskMs: [] as number[] };
  for (const id of workflowIds) {
    let startedAt: number | null = null;
    for (const event of await chain(client, id)) {
      if (timeOf(event) <= from || timeOf(event) > to) continue;
      const { workflowTaskTimedOutEventAttributes: timedOut, workflowTaskScheduledEventAttributes: scheduled } = event;
      if (timedOut) found[timedOut.timeoutType === START_TO_CLOSE ? 'lost' : 'moved'] += 1;
      // Of the attempts after the first only the last has events.
      found.lost += Math.max(0, (scheduled?.attempt ?? 1) - 2);
      if (event.workflowTaskStartedEventAttributes) startedAt = timeOf(event);
      if (event.workflowTaskCompletedEventAttributes && startedAt !== null)
        found.taskMs.push(timeOf(event) - startedAt);
    }
  }
  return found;
}

export type Started = { readonly child: string; readonly ms: number };

export async function chain(client: Client, workflowId: string): Promise<Event[]> {
  const all: Event[] = [];
  // Without a client's decoding: a memo may be sealed.
  const { workflowExecutionInfo } = await client.workflowService.describeWorkflowExecution({
    namespace: client.options.namespace,
    execution: { workflowId },
  });
  let runId = workflowExecutionInfo?.firstRunId ?? undefined;
  while (runId !== undefined) {
    const { events } = await client.workflow.getHandle(workflowId, runId).fetchHistory();
    all.push(...(events ?? []));
    runId = events?.at(-1)?.workflowExecutionContinuedAsNewEventAttributes?.newExecutionRunId ?? undefined;
  }
  return all;
}

const opened = (event: Event): string | null | undefined =>
  event.activityTaskScheduledEventAttributes?.activityType?.name;

function timeOf(event: Event | undefined): number {
  const { seconds, nanos } = event?.eventTime ?? {};
  return Number(seconds ?? 0) * 1_000 + (nanos ?? 0) / 1_000_000;
}
