// Sessions that are read as a whole, shared by all who ask at a time.
import type { Client } from '@temporalio/client';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { holdRows } from '../../../client/sessions/find/stream-sessions.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** A server with so many sessions that lists none of them. */
function serverOf(count: number | Error): { readonly temporal: Client; readonly asked: string[] } {
  const asked: string[] = [];
  const temporal = {
    options: { namespace: 'default' },
    withDeadline: (_deadline: number, call: () => Promise<unknown>) => call(),
    workflow: { count: () => (count instanceof Error ? Promise.reject(count) : Promise.resolve({ count })) },
    workflowService: {
      listWorkflowExecutions: ({ query }: { readonly query: string }) => {
        asked.push(query);
        return Promise.resolve({ executions: [], nextPageToken: new Uint8Array() });
      },
    },
  } as unknown as Client;
  return { temporal, asked };
}

test('those who ask at a time share one read, and a moment later it is read again (O3 O13)', async () => {
  const { temporal, asked } = serverOf(1);
  const readAll = holdRows(temporal, 1_000);
  expect(await Promise.all([readAll('a'), readAll('a'), readAll('b')])).toEqual([[], [], []]);
  await readAll('a');
  expect(asked).toEqual(['a', 'b']);
  await vi.advanceTimersByTimeAsync(1_000);
  await readAll('a');
  expect(asked).toEqual(['a', 'b', 'a']);
});

test('more sessions than can be kept are not read at once (O3 O13)', async () => {
  const { temporal, asked } = serverOf(10_001);
  expect(await holdRows(temporal, 1_000)('a')).toBeNull();
  expect(asked).toEqual([]);
});

test('a read that failed is not kept (O10)', async () => {
  const { temporal } = serverOf(new Error('away'));
  const readAll = holdRows(temporal, 1_000);
  const first = readAll('a');
  await expect(first).rejects.toThrow('away');
  const second = readAll('a');
  expect(second).not.toBe(first);
  await expect(second).rejects.toThrow('away');
});
