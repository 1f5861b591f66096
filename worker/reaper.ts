// Gives the work of provably dead workers on this host back at once, instead of waiting for their heartbeats to time out.
// First the sticky queue, then the activity: the other order stalled for ten seconds.
import type { Client } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { isAlive, parseIdentity } from '../activities/process-identity.ts';
import { WORKFLOW_TYPE } from '../workflows/contract/session.ts';

const AT_ONCE = 8;

/** How many activities were given back. Best effort: what is missed here times out by itself. */
export async function reap(client: Client, warn: (message: string) => void): Promise<number> {
  const query = `WorkflowType = '${WORKFLOW_TYPE}' AND ExecutionStatus = 'Running'`;
  const waiting: string[] = [];
  for await (const { workflowId } of client.workflow.list({ query })) waiting.push(workflowId);
  let freed = 0;
  const next = async (): Promise<void> => {
    for (let session = waiting.pop(); session !== undefined; session = waiting.pop()) {
      try {
        freed += await reapSession(client, session);
      } catch (error) {
        warn(`session ${session} could not be taken over at once: ${String(error)}; its heartbeat timeout will do it`);
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, next));
  return freed;
}

async function reapSession(client: Client, workflowId: string): Promise<number> {
  const before = await orphans(client, workflowId);
  if (before.length === 0) return 0;
  await client.workflowService.resetStickyTaskQueue({
    namespace: client.options.namespace,
    execution: { workflowId },
  });
  // Not fenced by attempt: look again just before.
  const now = await orphans(client, workflowId);
  const gone = ApplicationFailure.create({ type: 'WorkerGone', message: 'its worker is dead', nextRetryDelay: 1 });
  for (const activityId of now) await client.activity.fail({ workflowId, activityId }, gone);
  return now.length;
}

/** Ids of started activities whose worker is dead. */
async function orphans(client: Client, workflowId: string): Promise<string[]> {
  const { raw } = await client.workflow.getHandle(workflowId).describe();
  return (raw.pendingActivities ?? []).flatMap(({ activityId, lastWorkerIdentity, state }) => {
    const identity = parseIdentity(lastWorkerIdentity ?? '');
    const started = state === 2; // PENDING_ACTIVITY_STATE_STARTED
    return activityId && started && identity && isAlive(identity) === 'dead' ? [activityId] : [];
  });
}
