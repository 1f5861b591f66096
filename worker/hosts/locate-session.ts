// Finds out where a session has its folders now, from what its workflow shows without a worker.
import { type Client, WorkflowNotFoundError, type WorkflowExecutionDescription } from '@temporalio/client';
import { z } from 'zod';
import { activityType } from '../../workflows/contract/activities.ts';
import type { Hash, SessionId } from '../../workflows/contract/ids.ts';
import { MEMO_KEY, type SessionHost } from '../../workflows/contract/session.ts';

/**
 * `unsettled`: a host may be about to take the session, or the memo tells of none. `unknown`: the
 * server has forgotten the session, or never had it. `head`: of the transcript when it was over.
 */
export type SessionPlace =
  | { readonly kind: 'here' | 'unsettled' }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'over'; readonly head: Hash | null }
  | { readonly kind: 'elsewhere'; readonly host: SessionHost };

/** Milliseconds before a call to the server is given up. */
const CALL_MS = 5_000;

const schema = z.object({
  host: z.object({ id: z.string(), name: z.string() }),
  head: z.string().nullable().catch(null),
});

/** What makes a host the session's: the memo tells of it once the workflow has the result. */
const MOVES: readonly string[] = [activityType('openRun'), activityType('takeOver')];

/** Rejects where the server does not answer. */
export async function locateSession(
  client: Client,
  { id: own }: SessionHost,
  session: SessionId,
): Promise<SessionPlace> {
  const described = await describe(client, session);
  if (described === null) return { kind: 'unknown' };
  const { status, raw, memo } = described;
  const isOpen = status.name === 'RUNNING' || status.name === 'CONTINUED_AS_NEW';
  const isMoving = (raw.pendingActivities ?? []).some(({ activityType: type }) => MOVES.includes(type?.name ?? ''));
  if (isOpen && (isMoving || raw.pendingWorkflowTask)) return { kind: 'unsettled' };
  const known = schema.safeParse(memo?.[MEMO_KEY]).data;
  if (known && known.host.id !== own) return { kind: 'elsewhere', host: known.host };
  if (!isOpen) return { kind: 'over', head: (known?.head ?? null) as Hash | null };
  return { kind: known ? 'here' : 'unsettled' };
}

async function describe(client: Client, session: SessionId): Promise<WorkflowExecutionDescription | null> {
  try {
    return await client.withDeadline(Date.now() + CALL_MS, () => client.workflow.getHandle(session).describe());
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return null;
    throw error;
  }
}
