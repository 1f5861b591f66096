// Reads sessions from visibility, page by page.
import type { Client, WorkflowExecutionInfo } from '@temporalio/client';
import { executionInfoFromRaw } from '@temporalio/client/lib/helpers.js';
import { type SessionInfo, sessionInfo } from '../info.ts';
import { callUntilAnswered, impatient } from '../persist.ts';
import type { Placed } from './newest-first.ts';

/** The most sessions of one call. */
export const SERVER_PAGE = 500;

/** Yields the sessions of a query in the order of visibility. */
export async function* streamSessions(
  { temporal }: { readonly temporal: Client },
  query: string,
  pageSize: number,
): AsyncGenerator<readonly Placed<SessionInfo>[], void> {
  const { namespace, loadedDataConverter } = temporal.options;
  let nextPageToken: Uint8Array = new Uint8Array();
  do {
    const asked = { namespace, query, pageSize, nextPageToken };
    const { executions, nextPageToken: next } = await callUntilAnswered(
      temporal,
      'list the sessions',
      () => temporal.workflowService.listWorkflowExecutions(asked),
      impatient,
    );
    yield await Promise.all(
      executions.map(async (raw) =>
        placeExecution(await executionInfoFromRaw(raw, loadedDataConverter, raw, namespace)),
      ),
    );
    nextPageToken = next;
  } while (nextPageToken.length > 0);
}

/** Clocks of clients and server differ, and no session counts as younger than its execution. */
function placeExecution(execution: WorkflowExecutionInfo): Placed<SessionInfo> {
  const item = sessionInfo(execution);
  const start = execution.startTime.getTime();
  return {
    id: item.session,
    key: Math.min(item.startedAt, start),
    bound: execution.closeTime?.getTime() ?? start,
    item,
  };
}
