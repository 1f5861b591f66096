// A namespace of a test's own on the tier's Temporal server: workers of other tests that run beside
// it poll another one.
import { randomUUID } from 'node:crypto';
import { msToTs } from '@temporalio/common/lib/time.js';
import { Connection } from '@temporalio/client';
import { ensureAttributes } from '../../client/sessions/find/attributes.ts';

/** What a process needs to be in it. */
export async function ownNamespace(address: string): Promise<Readonly<Record<string, string>>> {
  const connection = await Connection.connect({ address });
  try {
    const namespace = `test-${randomUUID()}`;
    const workflowExecutionRetentionPeriod = msToTs('1 day');
    await connection.workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod });
    await ensureAttributes(connection, namespace);
    return { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace };
  } finally {
    await connection.close();
  }
}
