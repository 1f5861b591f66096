// What the turns of a session left in its history: events, bytes and milliseconds, read back from the server.
import type { Client } from '@temporalio/client';
import proto, { type temporal } from '@temporalio/proto';

export type Turn = { readonly events: number; readonly bytes: number; readonly ms: number };

type Event = temporal.api.history.v1.IHistoryEvent;

/** Splits all events of a workflow, over its whole chain of runs, at each activity of type `opens`: one opens one turn. */
export async function turnsOf(client: Client, workflowId: string, opens: string, every: number): Promise<Turn[]> {
  const events = await chain(client, workflowId);
  const opening = events.flatMap((event, at) => (opened(event) === opens ? [at] : []));
  const starts = opening.filter((_, n) => n % every === 0);
  return starts.slice(0, -1).map((from, n) => {
    const to = starts[n + 1] ?? from;
    const turn = events.slice(from, to);
    const bytes = turn.reduce(
      (sum, event) => sum + proto.temporal.api.history.v1.HistoryEvent.encode(event).finish().length,
      0,
    );
    return { events: turn.length, bytes, ms: timeOf(events[to]) - timeOf(events[from]) };
  });
}

async function chain(client: Client, workflowId: string): Promise<Event[]> {
  const all: Event[] = [];
  let runId: string | undefined =
    (await client.workflow.getHandle(workflowId).describe()).raw.workflowExecutionInfo?.firstRunId ?? undefined;
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
