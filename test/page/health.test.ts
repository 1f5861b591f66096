// Looks at the parts that the page depends on.
import type { Client } from '@temporalio/client';
import { expect, test } from 'vitest';
import { lookAtHealth } from '../../page/frame/health.ts';
import { memoryStore } from '../../store/values/memory-store.ts';

test('a server that does not answer in time is a problem of the server, not a look without end (O13)', async () => {
  const temporal = {
    workflowService: { getSystemInfo: () => Promise.resolve({}) },
    withDeadline: (deadline: number) =>
      Promise.reject(new Error(deadline > Date.now() ? 'no answer in time' : 'no time')),
  } as unknown as Client;
  const { server, store, workers } = await lookAtHealth(temporal, memoryStore());
  expect(server).toEqual({ problem: 'no answer in time' });
  expect([store, workers]).toEqual([{ ms: expect.any(Number) as number }, null]);
});
