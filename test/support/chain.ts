// A session is a chain of workflow runs, each continued as new by the next (L4).
import type { Client, WorkflowHandle } from '@temporalio/client';
import type { temporal } from '@temporalio/proto';

export type Chained = { readonly id: string; readonly handle: WorkflowHandle };

/** The history of each run of the chain, from the first on. */
export async function* chainOf(
  client: Client,
  { id, handle }: Chained,
): AsyncGenerator<temporal.api.history.v1.IHistory> {
  let runId: string | null | undefined = (await handle.describe()).raw.workflowExecutionInfo?.firstRunId;
  while (runId) {
    const history = await client.workflow.getHandle(id, runId).fetchHistory();
    yield history;
    runId = history.events?.at(-1)?.workflowExecutionContinuedAsNewEventAttributes?.newExecutionRunId;
  }
}
