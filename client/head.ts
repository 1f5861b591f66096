// The newest head of a session, from the workflow's history: it is the only head there is, and reading it needs no worker.
import type { Client } from '@temporalio/client';
import { decodeArrayFromPayloads } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { z } from 'zod';
import { type Hash, isHash, type SessionId } from '../workflows/contract/ids.ts';

type Service = Client['workflowService'];
type HistoryEvent = NonNullable<
  NonNullable<Awaited<ReturnType<Service['getWorkflowExecutionHistoryReverse']>>['history']>['events']
>[number];

/** Far more events than lie between two that name a head. */
const PAGE = 100;

const hash = z.custom<Hash>(isHash).nullable();
/** An activity's input or its result. */
const withHead = z.object({ head: hash });
/** Of the workflow's argument: where a session goes on after a handover. */
const withCarry = z.object({
  carry: z.object({ head: hash, run: z.object({ state: withHead }).nullable() }),
});

/** Null when nothing is stored yet. Throws what the server throws. */
export async function headOf(client: Client, session: SessionId): Promise<Hash | null> {
  const { namespace } = client.options;
  const execution = { workflowId: session };
  let nextPageToken: Uint8Array | undefined;
  do {
    const request = { namespace, execution, maximumPageSize: PAGE, ...(nextPageToken && { nextPageToken }) };
    const page = await client.workflowService.getWorkflowExecutionHistoryReverse(request);
    for (const event of page.history?.events ?? []) {
      const found = await headIn(client, event);
      if (found) return found.head;
    }
    nextPageToken = page.nextPageToken?.length ? page.nextPageToken : undefined;
  } while (nextPageToken);
  return null;
}

async function headIn(client: Client, event: HistoryEvent): Promise<{ readonly head: Hash | null } | undefined> {
  const payloads =
    event.activityTaskCompletedEventAttributes?.result?.payloads ??
    event.activityTaskScheduledEventAttributes?.input?.payloads ??
    event.workflowExecutionStartedEventAttributes?.input?.payloads;
  if (!payloads) return undefined;
  const [value] = await decodeArrayFromPayloads(client.options.loadedDataConverter, payloads);
  if (event.workflowExecutionStartedEventAttributes) {
    const carried = withCarry.safeParse(value).data?.carry;
    return { head: carried ? (carried.run?.state.head ?? carried.head) : null };
  }
  return withHead.safeParse(value).data;
}
