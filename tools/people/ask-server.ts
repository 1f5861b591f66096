// Questions of an activity to the Temporal server that are not about its own workflow.
import { type Client, ScheduleNotFoundError, WorkflowNotFoundError } from '@temporalio/client';
import type { SessionId } from '../../workflows/contract/ids.ts';

/**
 * A schedule as the server tells of it. `started` has the newest firings, oldest first. `startedAt`
 * is in milliseconds since the epoch.
 */
export type FiringsSeen = {
  readonly paused: boolean;
  readonly started: readonly { readonly workflow: string; readonly run: string; readonly startedAt: number }[];
};

/** Tells whether a session is over; a server that does not answer counts as no. */
export async function isSessionOver(client: Client, session: SessionId): Promise<boolean> {
  try {
    return (await client.workflow.getHandle(session).describe()).status.name !== 'RUNNING';
  } catch (error) {
    return error instanceof WorkflowNotFoundError;
  }
}

export async function readFirings(client: Client, schedule: string): Promise<FiringsSeen | null> {
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
