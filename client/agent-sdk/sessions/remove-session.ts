// Deletes a session from the server.
import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { pause } from '../../../system/async.ts';
import type { SessionId } from '../../faces/types.ts';
import { ClientProblem } from '../../faces/start.ts';

/** Milliseconds to wait, since the server deletes in its own time. */
const PATIENCE_MS = 20_000;
const LOOK_MS = 100;

/**
 * Deletes all workflow runs of the session from the server, and resolves once they are gone. The
 * next `perdure gc` removes what the store has of it. Throws ClientProblem `no_session`, or
 * `unanswered` when the server takes too long.
 */
export async function removeSession(client: Client, session: SessionId): Promise<void> {
  let run = await runOf(client, session);
  if (run === null)
    throw new ClientProblem('no_session', `no session ${session}: \`perdure list\` shows those there are`);
  const signal = AbortSignal.timeout(PATIENCE_MS);
  for (; run !== null; run = await runOf(client, session)) {
    await removeRun(client, session, run);
    if (!(await pause(LOOK_MS, signal)))
      throw new ClientProblem('unanswered', `the server has not deleted session ${session} yet: look again later`);
  }
  // A session that continued as new has earlier runs, too.
  for await (const { runId } of client.workflow.list({ query: `WorkflowId = "${session}"` }))
    await removeRun(client, session, runId);
}

async function runOf(client: Client, session: SessionId): Promise<string | null> {
  try {
    return (await client.workflow.getHandle(session).describe()).runId;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return null;
    throw error;
  }
}

/** Ends and deletes a run. Does nothing for one that is gone. */
async function removeRun(client: Client, workflowId: string, runId: string): Promise<void> {
  const execution = { workflowId, runId };
  try {
    await client.workflowService.deleteWorkflowExecution({
      namespace: client.options.namespace,
      workflowExecution: execution,
    });
  } catch (error) {
    if (!/not found|already/i.test(String(error))) throw error;
  }
}
