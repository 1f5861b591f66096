// Reads the options that a session was started with from its newest history: each handover carries
// them on. They are what a second session with the same options is started with.
import type { Client } from '@temporalio/client';
import { decodeArrayFromPayloads } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { z } from 'zod';
import type { SessionId } from '../../../workflows/contract/ids.ts';
import type { RunOptions } from '../../../workflows/contract/session.ts';
import { sealingContextOf } from '../newest-head.ts';

const started = z.looseObject({ options: z.looseObject({ cwd: z.string() }) });

/**
 * Returns null when the server no longer has the beginning, or another client began the session.
 */
export async function readStartOptions(client: Client, session: SessionId): Promise<RunOptions | null> {
  const { events } = await client.workflow.getHandle(session).fetchHistory();
  const input = events?.[0]?.workflowExecutionStartedEventAttributes?.input;
  const [value] = await decodeArrayFromPayloads(
    client.options.loadedDataConverter,
    input?.payloads,
    sealingContextOf(client, session, null),
  );
  return (started.safeParse(value).data?.options as RunOptions | undefined) ?? null;
}
