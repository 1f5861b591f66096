// Reads sessions from visibility, page by page.
import type { Client, CountWorkflowExecution, WorkflowExecutionInfo } from '@temporalio/client';
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
    const request = { namespace, query, pageSize, nextPageToken };
    const { executions, nextPageToken: next } = await callUntilAnswered(
      temporal,
      'list the sessions',
      () => temporal.workflowService.listWorkflowExecutions(request),
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

/** Returns all sessions of a query in the order of visibility. */
export async function collectRows(temporal: Client, query: string): Promise<readonly Placed<SessionInfo>[]> {
  const rows: Placed<SessionInfo>[] = [];
  for await (const sessions of streamSessions({ temporal }, query, SERVER_PAGE)) rows.push(...sessions);
  return rows;
}

/** Counts by a query of visibility, in groups where it asks for them. */
export function countRows(temporal: Client, query: string): Promise<CountWorkflowExecution> {
  return callUntilAnswered(temporal, 'count the sessions', () => temporal.workflow.count(query), impatient);
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
