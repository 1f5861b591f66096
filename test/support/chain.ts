// A session is a chain of workflow runs, each continued as new by the next (L4).
import type { Client } from '@temporalio/client';
import type { temporal } from '@temporalio/proto';
import type { OpenSession } from './harness.ts';

/** The history of each run of the chain, from the first on. */
export async function* chainOf(
  client: Client,
  { id, handle }: Pick<OpenSession, 'id' | 'handle'>,
): AsyncGenerator<temporal.api.history.v1.IHistory> {
  let runId: string | null | undefined = (await handle.describe()).raw.workflowExecutionInfo?.firstRunId;
  while (runId) {
    const history = await client.workflow.getHandle(id, runId).fetchHistory();
    yield history;
    runId = history.events?.at(-1)?.workflowExecutionContinuedAsNewEventAttributes?.newExecutionRunId;
  }
}
