// A server that knows no sessions, for a cleaning of the store.
import type { Client } from '@temporalio/client';

export const emptyServer = {
  options: { namespace: 'default' },
  workflowService: { describeNamespace: () => Promise.resolve({ namespaceInfo: { id: 'n' } }) },
  workflow: { list: async function* () {} },
} as unknown as Client;
