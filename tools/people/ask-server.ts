// What an activity asks the Temporal server beside its own workflow.
import { type Client, ScheduleNotFoundError, WorkflowNotFoundError } from '@temporalio/client';
import type { SessionId } from '../../workflows/contract/ids.ts';

/**
 * As the server tells of a schedule. `started`: the newest firings, oldest first. `startedAt`:
 * milliseconds since the epoch.
 */
export type FiringsSeen = {
  readonly paused: boolean;
  readonly started: readonly { readonly workflow: string; readonly run: string; readonly startedAt: number }[];
};

/** A server that does not answer says nothing. */
export async function isOver(client: Client, session: SessionId): Promise<boolean> {
  try {
    return (await client.workflow.getHandle(session).describe()).status.name !== 'RUNNING';
  } catch (error) {
    return error instanceof WorkflowNotFoundError;
  }
}

export async function firingsOf(client: Client, schedule: string): Promise<FiringsSeen | null> {
  try {
    const { state, info } = await client.schedule.getHandle(schedule).describe();
    const started = info.recentActions.map(({ action: { workflow }, takenAt }) => ({
      workflow: workflow.workflowId,
      run: workflow.firstExecutionRunId,
      startedAt: takenAt.getTime(),
    }));
    return { paused: state.paused, started };
  } catch (error) {
    if (error instanceof ScheduleNotFoundError) return null;
    throw error;
  }
}
