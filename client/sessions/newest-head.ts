// Finds the newest head of a session in its workflow's history: it stands nowhere else, and reading
// it needs no worker.
import { unwrapRequest } from '../../workflows/contract/steered.ts';
import type { Client } from '@temporalio/client';
import type { SerializationContext } from '@temporalio/common';
import { decodeArrayFromPayloads } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { z } from 'zod';
import { type Hash, type SessionId, isHash } from '../../workflows/contract/ids.ts';
import { UPDATES } from '../../workflows/contract/session.ts';

type Service = Client['workflowService'];
type HistoryEvent = NonNullable<
  NonNullable<Awaited<ReturnType<Service['getWorkflowExecutionHistoryReverse']>>['history']>['events']
>[number];

/** Events of a page: each is decoded, and one of the newest ten mostly names a head. */
const PAGE = 32;

const hash = z.custom<Hash>(isHash).nullable();
/** Input of an activity. */
const withHead = z.object({ head: hash });
/** Argument of an accepted update. */
const withRepair = z.object({ to: hash }).transform(({ to: head }) => ({ head }));
const answered = z.object({ done: withHead });
/** The part of the workflow's argument that says where a session continues after a handover. */
const withCarry = z.object({
  carry: z.object({ head: hash, run: z.object({ state: withHead }).nullable() }),
});

/**
 * Returns the session's newest head, or null when nothing is stored yet. Passes on errors of the
 * server.
 */
export async function headOf(client: Client, session: SessionId): Promise<Hash | null> {
  return (await newestStepOf(client, session)).head;
}

/** `input`: that of the activity under way which goes on from the head; absent between two. */
export type NewestStep = { readonly head: Hash | null; readonly input?: unknown };

/** Passes on errors of the server. */
export async function newestStepOf(client: Client, session: SessionId): Promise<NewestStep> {
  const { namespace } = client.options;
  const execution = { workflowId: session };
  const events: HistoryEvent[] = [];
  let nextPageToken: Uint8Array | undefined;
  do {
    const request = { namespace, execution, maximumPageSize: PAGE, ...(nextPageToken && { nextPageToken }) };
    const page = await client.workflowService.getWorkflowExecutionHistoryReverse(request);
    events.push(...(page.history?.events ?? []));
    nextPageToken = page.nextPageToken?.length ? page.nextPageToken : undefined;
    const found = await newestHead(client, session, events, nextPageToken === undefined);
    if (found) return found;
  } while (nextPageToken);
  return { head: null };
}

/**
 * Removes the events it has looked at. A result waits for the event that names its activity, which
 * may be on a later page.
 */
async function newestHead(
  client: Client,
  session: SessionId,
  events: HistoryEvent[],
  isLast: boolean,
): Promise<NewestStep | undefined> {
  const named = new Map(
    events.map((event) => [String(event.eventId), event.activityTaskScheduledEventAttributes?.activityId]),
  );
  for (let event = events[0]; event; event = events[0]) {
    const scheduled = event.activityTaskCompletedEventAttributes?.scheduledEventId;
    const activity = named.get(String(scheduled ?? event.eventId));
    if (scheduled && !named.has(String(scheduled)) && !isLast) return undefined;
    const found = await headIn(client, event, sealingContextOf(client, session, activity));
    if (found) return found;
    events.shift();
  }
  return undefined;
}

/** Returns the context that the session's payloads are sealed for. */
export function sealingContextOf(
  client: Client,
  workflowId: SessionId,
  activityId: string | null | undefined,
): SerializationContext {
  const { namespace } = client.options;
  return activityId
    ? { type: 'activity', namespace, workflowId, activityId, isLocal: false }
    : { type: 'workflow', namespace, workflowId };
}

async function headIn(
  client: Client,
  event: HistoryEvent,
  context: SerializationContext,
): Promise<NewestStep | undefined> {
  const repaired = event.workflowExecutionUpdateAcceptedEventAttributes?.acceptedRequest?.input;
  if (repaired?.name === UPDATES.repair) {
    const payloads = repaired.args?.payloads;
    const [repair] = await decodeArrayFromPayloads(client.options.loadedDataConverter, payloads, context);
    return withRepair.safeParse(unwrapRequest(repair)).data;
  }
  const payloads =
    event.activityTaskCompletedEventAttributes?.result?.payloads ??
    event.activityTaskScheduledEventAttributes?.input?.payloads ??
    event.workflowExecutionStartedEventAttributes?.input?.payloads;
  if (!payloads) return undefined;
  const [value] = await decodeArrayFromPayloads(client.options.loadedDataConverter, payloads, context);
  if (event.activityTaskCompletedEventAttributes) return answered.safeParse(value).data?.done;
  if (event.workflowExecutionStartedEventAttributes) {
    const carried = withCarry.safeParse(value).data?.carry;
    return { head: carried ? (carried.run?.state.head ?? carried.head) : null };
  }
  const found = withHead.safeParse(value).data;
  return found && { ...found, input: value };
}
