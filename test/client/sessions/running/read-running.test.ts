// Looks at sessions with a run under way, as lists share them, on a server that may not answer.
import type { Client } from '@temporalio/client';
import { afterEach, expect, test, vi } from 'vitest';
import { runningReader } from '../../../../client/sessions/running/read-running.ts';
import { memoryStore } from '../../../support/memory-store.ts';
import type { SessionId } from '../../../../workflows/contract/ids.ts';

afterEach(() => {
  vi.useRealTimers();
});

const running = [{ session: 's-1' as SessionId, phase: 'running' as const }];

/** A server that answers no description before the given one; a call ends at its deadline. */
function silentUntil(answered: number): { readonly temporal: Client; readonly asked: () => number } {
  let asked = 0;
  const describe = (): Promise<unknown> => {
    asked += 1;
    return asked < answered ? new Promise(() => undefined) : Promise.resolve({ status: { name: 'COMPLETED' } });
  };
  const withDeadline = (deadline: number, call: () => Promise<unknown>): Promise<unknown> =>
    Promise.race([
      call(),
      new Promise((_, reject) => {
        setTimeout(() => reject(new Error('deadline exceeded')), deadline - Date.now());
      }),
    ]);
  const temporal = { withDeadline, workflow: { getHandle: () => ({ describe }) } } as unknown as Client;
  return { temporal, asked: () => asked };
}

test('a look that the server never answers is given up, and the session is looked at again (O3)', async () => {
  vi.useFakeTimers();
  const { temporal, asked } = silentUntil(2);
  const read = runningReader({ temporal, store: memoryStore() });
  const look = async (): Promise<number> => {
    const [rows] = await Promise.all([read(running), vi.advanceTimersByTimeAsync(3_000)]);
    return rows.size;
  };
  expect(await look()).toBe(0);
  expect(await look()).toBe(0);
  expect(asked()).toBe(1);
  await vi.advanceTimersByTimeAsync(10_000);
  await look();
  expect(asked()).toBe(2);
});
