// How many events of history the one call of a session has, that the workflow carried out.
import type { WorkflowHandle } from '@temporalio/client';

/**
 * From what begins it, in the task after its reply, to the task after its outcome. Throws when an
 * activity of its own began or ended it.
 */
export async function eventsOfCall(handle: WorkflowHandle): Promise<number> {
  const { events } = await handle.fetchHistory();
  const scheduled = (events ?? []).flatMap(({ activityTaskScheduledEventAttributes: activity }, at) =>
    activity?.activityType?.name ? [{ at, name: activity.activityType.name.replace('perdure.', '') }] : [],
  );
  const order = scheduled.map(({ name }) => name).join(' ');
  const calls = scheduled.filter(({ name }) => name === 'callModel');
  if (order !== 'openRun callModel callModel commit') throw new Error(order);
  const replied = (events ?? []).findIndex(
    ({ activityTaskCompletedEventAttributes: completed }) =>
      Number(completed?.scheduledEventId ?? 0) === calls[0]!.at + 1,
  );
  // The task that takes the reply is there for any call.
  return calls[1]!.at - replied - 1 - 3;
}
